#include "worker/plugin.h"

#include "base/hash.h"
#include "base/messages.h"
#include "base/text.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <system_error>
#include <utility>

namespace deepgap {
namespace {

constexpr std::string_view file_prefix = "deepgap_";
constexpr std::string_view file_suffix = ".so";

class OpenedPlugin final : public Plugin {
 public:
  explicit OpenedPlugin(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}
  Backend& backend() override { return *backend_; }

 private:
  std::unique_ptr<Backend> backend_;
};

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorKind::refused, message); }

// A name makes a path: those of our files cannot lead out of the folder.
bool is_plain_name(const std::string& name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-'; };
  return !name.empty() && std::all_of(name.begin(), name.end(), plain);
}

std::string path_in(const std::vector<std::string>& folders, const std::string& name) {
  for (const std::string& folder : folders) {
    std::error_code error;
    std::string path = fmt::format("{}/{}{}{}", folder, file_prefix, name, file_suffix);
    if (!folder.empty() && std::filesystem::exists(path, error)) return path;
  }
  return "";
}

const char* last_dl_error() {
  const char* text = ::dlerror();
  return text == nullptr ? "no reason given" : text;
}

}  // namespace

std::vector<std::string> plugin_folders() {
  std::vector<std::string> folders;
  if (const char* named = std::getenv("DEEPGAP_PLUGINS"); named != nullptr) {
    for (const std::string& folder : split(named, ':'))
      if (!folder.empty()) folders.push_back(folder);  // an empty one is no working directory
  }
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw Error(ErrorKind::internal, fmt::format("cannot read /proc/self/exe: {}", error.message()));
  folders.push_back((program.parent_path().parent_path() / "lib" / "deepgap").string());
  return folders;
}

std::string plugin_path(const std::string& name) { return path_in(plugin_folders(), name); }

bool holds_plugin(const std::string& folders, const std::string& name) { return !path_in(split(folders, ':'), name).empty(); }

std::string plugin_hash(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Hasher hasher;
  std::vector<char> bytes(size_t{1} << 16);
  while (file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())) || file.gcount() > 0)
    hasher.add(std::as_bytes(std::span(bytes.data(), static_cast<size_t>(file.gcount()))));
  return file.eof() ? hasher.digest() : "";
}

std::vector<std::string> plugin_names() {
  std::vector<std::string> names;
  for (const std::string& folder : plugin_folders()) {
    std::error_code error;  // a folder that is not there holds no plug-ins
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      const std::string file = entry.path().filename().string();
      if (!file.starts_with(file_prefix) || !file.ends_with(file_suffix)) continue;
      std::string name = file.substr(file_prefix.size(), file.size() - file_prefix.size() - file_suffix.size());
      if (is_plain_name(name)) names.push_back(std::move(name));
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::optional<std::string> plugin_defect(const BackendEntry& entry) {
  if (entry.abi != backend_abi) {
    return fmt::format("it was built for plug-in ABI {}, this program has {}; build it against this program's headers", entry.abi,
                       backend_abi);
  }
  const std::string_view tag = entry.build_tag == nullptr ? "" : entry.build_tag;
  if (tag != DEEPGAP_BUILD_TAG) {
    return fmt::format("it was built as '{}', this program as '{}'; build both with the same compiler", tag, DEEPGAP_BUILD_TAG);
  }
  if (entry.create == nullptr) return "its entry makes no backend";
  return std::nullopt;
}

void require_backend_name(const std::string& name) {
  std::vector<std::string> known = plugin_names();
  const bool none = known.empty();
  for (const AbsentBackend& absent : absent_backends()) known.push_back(absent.name);
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  if (none) throw Error(ErrorKind::input, fmt::format("no backend plug-ins in {}", join(plugin_folders(), ", ")));
  throw Error(ErrorKind::usage, invalid_choice(name, "backend", known));
}

std::unique_ptr<Plugin> open_plugin(const std::string& name) {
  require_backend_name(name);
  for (const AbsentBackend& absent : absent_backends()) {
    if (absent.name == name) refuse(fmt::format("backend '{}' is not available: {}", name, absent.reason));
  }
  const std::string path = plugin_path(name);
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) refuse(fmt::format("backend '{}' does not load: {}", name, last_dl_error()));
  const auto* entry = static_cast<const BackendEntry*>(::dlsym(library, "deepgap_backend"));
  if (entry == nullptr) refuse(fmt::format("backend '{}' does not load: {}", name, last_dl_error()));
  if (const auto defect = plugin_defect(*entry)) refuse(fmt::format("backend '{}' does not load: {}", name, *defect));
  std::unique_ptr<Backend> backend(entry->create());
  if (!backend) refuse(fmt::format("backend '{}' does not load: its entry made no backend", name));
  // A Point names it by its file; what it says of itself is listed.
  if (backend->name() != name)
    refuse(fmt::format("backend '{}' does not load: it calls itself '{}'; name its file {}{}{}", name, backend->name(), file_prefix,
                       backend->name(), file_suffix));
  return std::make_unique<OpenedPlugin>(std::move(backend));
}

std::vector<AbsentBackend> absent_backends() {
  std::vector<AbsentBackend> absent{
      {"kserve", "not built; with libcurl's headers, cmake --build build --target deepgap_programs builds it"},
      {"libtorch", "not built; with torch, cmake --build build --target deepgap_programs builds it (docs/reference/engines/index.md)"},
      {"libtorch_cuda",
       "not built; with torch for CUDA and CUDA 13's runtime, cmake --build build --target deepgap_programs builds it "
       "(docs/reference/engines/index.md)"},
      {"null", "not built; cmake --build build --target deepgap_programs builds it"},
      {"openai", "not built; with libcurl's headers, cmake --build build --target deepgap_programs builds it"},
      {"openvino", "not built; with OpenVINO, cmake --build build --target deepgap_programs builds it (docs/reference/engines/index.md)"},
      {"tensorflow", "not built; cmake --build build --target deepgap_programs builds it (docs/reference/engines/index.md)"},
      {"tensorrt",
       "not a plug-in yet; ONNX Runtime has a provider for it: --backend onnxruntime --axis onnxruntime.provider=tensorrt "
       "(docs/reference/engines/index.md)"},
      {"xla", "not built; cmake --build build --target deepgap_programs builds it (docs/reference/engines/index.md)"},
  };
  const std::vector<std::string> found = plugin_names();
  std::erase_if(absent, [&](const AbsentBackend& row) { return std::binary_search(found.begin(), found.end(), row.name); });
  return absent;
}

}  // namespace deepgap
