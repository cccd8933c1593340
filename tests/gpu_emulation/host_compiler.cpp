#include "host_compiler.h"

#include "base/file.h"
#include "base/temporary_folder.h"

#include <deepgap/error.h>

#include <dlfcn.h>
#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>

namespace deepgap::gpu {
namespace {

// The same for words and texts, else the compiler does not take what it kept.
constexpr const char* flags = "-std=c++20 -O1 -w -ffp-contract=off -fPIC -pthread";

void compile(const std::string& how, const std::string& from, const std::string& to) {
  const std::string command = fmt::format("{} {} {} {} -o {} 2>{}.log", DEEPGAP_HOST_COMPILER, flags, how, from, to, to);
  if (std::system(command.c_str()) != 0)
    throw Error(ErrorKind::internal, fmt::format("{}: {}", from, read_text(to + ".log").substr(0, 3000)));
}

// The files of this process. Names are never used twice.
class Workshop {
 public:
  struct Compiled {
    std::string header, object;
  };
  std::string new_stem() { return folder_ / fmt::format("text{}", next_++); }
  // A header that is compiled already, and what to link with it.
  Compiled compiled(const HostWords& words) {
    const std::scoped_lock lock(mutex_);
    const std::pair key(words.declared, words.defined);
    if (const auto found = compiled_.find(key); found != compiled_.end()) return found->second;
    const std::string stem = new_stem();
    Compiled made{.header = stem + ".h", .object = {}};
    write_file_atomic(made.header, words.declared);
    compile("-x c++-header", made.header, made.header + ".gch");
    if (!words.defined.empty()) {
      made.object = stem + ".o";
      write_file_atomic(stem + ".cpp", words.defined);
      compile("-c -include " + made.header, stem + ".cpp", made.object);
    }
    return compiled_.emplace(key, made).first->second;
  }

 private:
  TemporaryFolder folder_;
  std::atomic<int> next_ = 0;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Compiled> compiled_;
};

Workshop& workshop() {
  static Workshop one;
  return one;
}

}  // namespace

HostLibrary::HostLibrary(const HostWords& words, const std::string& text) {
  const auto [header, object] = workshop().compiled(words);
  const std::string stem = workshop().new_stem();
  write_file_atomic(stem + ".cpp", text);
  compile("-shared -Winvalid-pch -include " + header + " " + object, stem + ".cpp", stem + ".so");
  library_.reset(::dlopen((stem + ".so").c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!library_) throw Error(ErrorKind::internal, ::dlerror());
}

void HostLibrary::Close::operator()(void* library) const { ::dlclose(library); }

void* HostLibrary::symbol(const std::string& name) const {
  void* const found = ::dlsym(library_.get(), name.c_str());
  if (found == nullptr) throw Error(ErrorKind::internal, ::dlerror());
  return found;
}

}  // namespace deepgap::gpu
