#include "cuda/find_library.h"

#include "base/text.h"

#include <deepgap/error.h>

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace deepgap::cuda {
namespace {

namespace fs = std::filesystem;

void* load(const std::string& path) { return ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); }

// "libnvrtc.so.13 or .12"
std::string names_text(const std::vector<const char*>& names) {
  std::vector<std::string> texts{names.front()};
  for (size_t i = 1; i < names.size(); ++i) texts.push_back(fs::path(names[i]).extension().string());
  return join(texts, " or ");
}

}  // namespace

FoundLibrary find_library(const LibrarySought& sought, const std::string& file) {
  if (!file.empty()) {
    if (void* library = load(file)) return {library, file};
    throw Error(ErrorKind::refused, fmt::format("there is no {}: {}", sought.title, ::dlerror()));
  }
  if (const char* named = ::getenv(sought.variable.c_str()); named != nullptr && *named != '\0') {
    if (void* library = load(named)) return {library, named};
    throw Error(ErrorKind::refused, fmt::format("{}, given by {}, does not load: {}", sought.title, sought.variable, ::dlerror()));
  }
  std::vector<std::string> tried;
  for (const fs::path& folder : sought.folders) {
    for (const char* name : sought.names)
      if (void* library = load((folder / name).string())) return {library, (folder / name).string()};
    if (std::find(tried.begin(), tried.end(), folder.string()) == tried.end()) tried.push_back(folder.string());
  }
  for (const char* name : sought.names)
    if (void* library = load(name)) return {library, name};
  throw Error(ErrorKind::refused, fmt::format("no {} ({}) in {}; install torch, a CUDA toolkit or {}, or name the library in {}",
                                              names_text(sought.names), sought.kind, join(tried, ", "), sought.package, sought.variable));
}

void* address_of(const FoundLibrary& library, const std::string& title, const char* name) {
  if (void* address = ::dlsym(library.handle, name)) return address;
  throw Error(ErrorKind::refused, fmt::format("{} is not a usable {}: it has no {}", library.path, title, name));
}

}  // namespace deepgap::cuda
