// Texts of kernels, compiled for the host and loaded.
#pragma once

#include <memory>
#include <string>

namespace deepgap::gpu {

// What the host's compiler makes of a text behind its words, until this goes. Threads may make several at a time.
class HostLibrary {
 public:
  // `words` are what many texts begin with: they are read once for each of them and kept as the compiler understood them, since their
  // headers take longer than most texts. Throws Error{internal} with what the compiler said.
  HostLibrary(const std::string& words, const std::string& text);
  // Throws Error{internal} where there is none of that name.
  void* symbol(const std::string& name) const;
  template <typename Function>
  Function function(const std::string& name) const {
    return reinterpret_cast<Function>(symbol(name));
  }

 private:
  struct Close {
    void operator()(void* library) const;
  };
  std::unique_ptr<void, Close> library_;
};

}  // namespace deepgap::gpu
