#include "backends/xla/xla_plugins.h"

#include "base/own_libraries.h"
#include "base/python_package.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

struct Known {
  const char* file;
  std::string XlaPlugins::*path;
};
constexpr Known known[] = {{"xla_cuda_plugin.so", &XlaPlugins::cuda}, {"xla_cpu_pjrt.so", &XlaPlugins::cpu}};

// Takes a file by its name, which says the kind of device; the first of a kind stays. Returns whether it is a plug-in.
bool take(XlaPlugins& plugins, const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return false;
  const bool cuda = file.filename().string().find("cuda") != std::string::npos;
  std::string& path = cuda ? plugins.cuda : plugins.cpu;
  if (path.empty()) path = file.lexically_normal().string();
  return true;
}

bool take_from(XlaPlugins& plugins, const fs::path& folder) {
  plugins.tried.push_back(folder.string());
  bool any = false;
  for (const char* inner : {".", "xla_cuda13", "xla_cpu_pjrt", "jax_plugins/xla_cuda13", "xla_plugins/xla_cpu_pjrt"})
    for (const Known& one : known) any = take(plugins, folder / inner / one.file) || any;
  return any;
}

}  // namespace

XlaPlugins find_xla_plugins() {
  XlaPlugins plugins;
  if (const char* named = ::getenv("DEEPGAP_XLA"); named != nullptr && *named != '\0') {
    for (const std::string& place : split(named, ':')) {
      if (!take(plugins, place) && !take_from(plugins, place))
        throw Error(ErrorKind::refused, fmt::format("DEEPGAP_XLA={}: {} neither is a plug-in of XLA nor holds {} or {}", named, place,
                                                    known[0].file, known[1].file));
    }
    return plugins;
  }
  static const int anchor = 0;
  for (const std::string& folder : own_library_folders(&anchor)) take_from(plugins, folder + "/xla");
  for (const char* package : {"jax_plugins", "xla_plugins"})
    if (const std::string folder = folder_of_python_package(package); !folder.empty()) take_from(plugins, folder);
  return plugins;
}

std::string missing_xla_plugin(const XlaPlugins& plugins, const std::string& kind) {
  const char* package = kind == "cuda" ? "jax-cuda13-pjrt" : "xla-cpu-pjrt";
  return fmt::format("no plug-in of XLA for {} in {}; install {}, or set DEEPGAP_XLA to it (docs/reference/engines/xla.md)",
                     kind == "cuda" ? "NVIDIA GPUs" : "CPUs", join(plugins.tried, ", "), package);
}

std::string xla_package_of(const std::string& path) {
  constexpr std::string_view ending = ".dist-info";
  std::error_code error;
  const fs::path file = fs::canonical(path, error);
  fs::path folder = file.parent_path();
  for (int i = 0; i < 2; ++i) {  // PACKAGES/jax_plugins/xla_cuda13/xla_cuda_plugin.so
    folder = folder.parent_path();
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      std::string name = entry.path().filename().string();
      if (name.find("_pjrt-") == std::string::npos || !name.ends_with(ending)) continue;
      const bool cuda = name.find("cuda") != std::string::npos;
      if (cuda != (file.filename().string().find("cuda") != std::string::npos)) continue;
      name.resize(name.size() - ending.size());
      name[name.rfind('-')] = ' ';
      return name;
    }
  }
  return fs::path(path).filename().string();
}

}  // namespace deepgap
