#include "backends/onnxruntime/ort_library.h"

#include "base/own_libraries.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <dlfcn.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorKind::refused, message); }

// A folder's libonnxruntime.so or libonnxruntime.so.VERSION; the last by name where there are several.
std::optional<std::string> library_in(const fs::path& folder) {
  std::optional<std::string> found;
  std::error_code error;  // a folder that is not there holds none
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string path = entry.path().string();
    if (entry.path().filename().string().starts_with("libonnxruntime.so") && (!found || *found < path)) found = path;
  }
  return found;
}

OrtApiBase const* open_base(const std::string& path) {
  // Set before the library is there: its telemetry starts a thread and writes a file in the user's cache, and both would be measured.
  ::setenv("ORT_DISABLE_TELEMETRY", "1", 1);
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) refuse(fmt::format("ONNX Runtime does not load: {}", ::dlerror()));
  void* entry = ::dlsym(library, "OrtGetApiBase");
  if (entry == nullptr) refuse(fmt::format("{} is not ONNX Runtime: {}", path, ::dlerror()));
  const OrtApiBase* base = reinterpret_cast<const OrtApiBase* (*)()>(entry)();
  if (base == nullptr) refuse(fmt::format("{} is not ONNX Runtime: it has no interface table", path));
  return base;
}

}  // namespace

std::string find_ort_library() {
  if (const char* named = ::getenv("DEEPGAP_ONNXRUNTIME"); named != nullptr && *named != '\0') {
    std::error_code error;
    if (fs::is_regular_file(named, error)) return named;
    if (const auto found = library_in(named)) return *found;
    refuse(fmt::format("no libonnxruntime.so at DEEPGAP_ONNXRUNTIME={}", named));
  }
  static const int anchor = 0;
  std::vector<std::string> tried;
  for (const std::string& folder : own_library_folders(&anchor)) {
    tried.push_back(folder + "/onnxruntime");
    if (const auto found = library_in(tried.back())) return *found;
  }
  refuse(fmt::format("no libonnxruntime.so in {}; set DEEPGAP_ONNXRUNTIME to one (docs/reference/engines/index.md)", join(tried, ", ")));
}

const OrtLibrary& OrtLibrary::instance() {
  static const OrtLibrary library;
  return library;
}

OrtLibrary::OrtLibrary() : path_(find_ort_library()) {
  const OrtApiBase* base = open_base(path_);
  version_ = base->get_version_string();
  table_ = base->get_api(ort_api_version);
  if (table_ == nullptr) refuse(fmt::format("{} is ONNX Runtime {}, needed is 1.{} or newer", path_, version_, ort_api_version));
}

OrtEnv* OrtLibrary::env() const {
  // Not released: the library's own threads may still use it when static objects go.
  static OrtEnv* const env = [this] {
    OrtEnv* made = nullptr;
    call(ort_create_env, ort_log_error, "deepgap", &made);
    call(ort_disable_telemetry_events, made);
    return made;
  }();
  return env;
}

OrtFailure OrtLibrary::take(OrtStatus* status) const {
  OrtFailure failure{raw(ort_get_error_code, status), raw(ort_get_error_message, status)};
  raw(ort_release_status, status);
  return failure;
}

}  // namespace deepgap
