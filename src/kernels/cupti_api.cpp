#include "kernels/cupti_api.h"

#include "cuda/find_library.h"
#include "cuda/library_folders.h"

#include <deepgap/error.h>

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace deepgap::cupti {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 2> names{"libcupti.so.13", "libcupti.so.12"};
constexpr const char* variable = "DEEPGAP_CUPTI";

Api opened(const cuda::FoundLibrary& library) {
  Api made;
  made.path = library.path;
#define DEEPGAP_CUPTI_FIND(name, parameters) cuda::find_function(library, "CUPTI", #name, made.name);
  DEEPGAP_CUPTI_FUNCTIONS(DEEPGAP_CUPTI_FIND)
#undef DEEPGAP_CUPTI_FIND
#define DEEPGAP_CUPTI_FIND(name, parameters) made.name = reinterpret_cast<decltype(made.name)>(::dlsym(library.handle, #name));
  DEEPGAP_CUPTI_PROFILER_FUNCTIONS(DEEPGAP_CUPTI_FIND)
#undef DEEPGAP_CUPTI_FIND
  return made;
}

std::string path_of(void* library) {
  const link_map* map = nullptr;
  return ::dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "libcupti";
}

// Two copies in one process would each see half of what happens.
void* already_loaded() {
  for (const char* name : names)
    if (void* library = ::dlopen(name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE)) return library;
  return nullptr;
}

std::vector<fs::path> folders() {
  std::vector<fs::path> all;
  for (const fs::path& folder : cuda::library_folders()) {
    all.push_back(folder);
    if (folder.filename() == "lib64") all.push_back(folder.parent_path() / "extras/CUPTI/lib64");
  }
  return all;
}

Api found() {
  const char* named = ::getenv(variable);
  if (named == nullptr || *named == '\0')
    if (void* library = already_loaded()) return opened({library, path_of(library)});
  return opened(cuda::find_library({.title = "CUPTI",
                                    .kind = "NVIDIA's profiling library",
                                    .names = {names.begin(), names.end()},
                                    .variable = variable,
                                    .package = "nvidia-cuda-cupti",
                                    .folders = folders()}));
}

}  // namespace

const Api& api() {
  static const Api instance = found();
  return instance;
}

void check(const Api& api, Result result, const std::string& doing) {
  if (result == 0) return;
  const char* text = nullptr;
  if (api.cuptiGetResultString != nullptr) api.cuptiGetResultString(result, &text);
  throw Error(ErrorKind::refused, fmt::format("CUPTI says {} while {}", text == nullptr ? std::to_string(result) : text, doing));
}

}  // namespace deepgap::cupti
