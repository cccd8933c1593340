// Texts of kernels, compiled for the host and loaded.
#pragma once

#include <memory>
#include <string>

namespace deepgap::gpu {

// The common beginning of many texts, and the code behind it: both are compiled once, as together they take longer than most texts.
struct HostWords {
  std::string declared;
  std::string defined;  // may be empty. In every library its own: what it keeps is hidden
};

// The host compiler's library of a text behind its words, until this goes. Threads may make several at a time.
class HostLibrary {
 public:
  // Throws Error{internal} with what the compiler said.
  HostLibrary(const HostWords& words, const std::string& text);
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
