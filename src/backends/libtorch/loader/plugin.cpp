// The plug-in that deepgap opens. It needs nothing of LibTorch itself: it finds the libraries, loads them by path, and then the engine
// beside it (libtorch/engine_KIND.so), which is linked against them. So what is missing is said in one line, wherever torch is installed.
#include "backends/libtorch/loader/find_libtorch.h"
#include "base/own_libraries.h"

#include <deepgap/backend.h>

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

namespace deepgap {
namespace {

constexpr const char* kind = DEEPGAP_LIBTORCH_KIND;
constexpr const char* note = DEEPGAP_LIBTORCH_NOTE;  // empty, or what a user should know of this kind

void* open_library(const std::string& path, const std::string& what) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) throw Error(ErrorKind::refused, fmt::format("{} does not load: {}", what, ::dlerror()));
  return library;
}

std::string engine_path() {
  static const int anchor = 0;
  return fmt::format("{}/libtorch/engine_{}.so", own_plugin_folders(&anchor).at(0), kind);
}

Backend* create_from_torch() {
  const std::string folder = find_libtorch();
  const std::string defect = libtorch_version_defect(libtorch_version(folder), DEEPGAP_LIBTORCH_VERSION);
  if (!defect.empty()) throw Error(ErrorKind::refused, fmt::format("the LibTorch in {} cannot be used: {}", folder, defect));
  for (const char* name : {DEEPGAP_LIBTORCH_LIBRARIES}) open_library(folder + "/" + name, fmt::format("the LibTorch in {}", folder));
  void* engine = open_library(engine_path(), fmt::format("the engine for the LibTorch in {}", folder));
  void* entry = ::dlsym(engine, "deepgap_libtorch_engine");
  if (entry == nullptr) throw Error(ErrorKind::refused, fmt::format("{} is not an engine: {}", engine_path(), ::dlerror()));
  return reinterpret_cast<Backend* (*)()>(entry)();
}

Backend* create() {
  try {
    return create_from_torch();
  } catch (const Error& error) {
    throw Error(error.kind(), std::string(error.what()) + note);
  }
}

}  // namespace
}  // namespace deepgap

extern "C" __attribute__((visibility("default"))) const deepgap::BackendEntry deepgap_backend;
const deepgap::BackendEntry deepgap_backend{deepgap::backend_abi, DEEPGAP_BUILD_TAG,
                                            []() -> deepgap::Backend* { return deepgap::create(); }};
