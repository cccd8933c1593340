#include "backends/libtorch/loader/find_libtorch.h"

#include "base/file.h"
#include "base/own_libraries.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorKind::refused, message); }

std::optional<std::string> libraries_in(const fs::path& folder) {
  std::error_code error;
  for (const fs::path& place : {folder, folder / "lib", folder / "torch/lib"}) {
    if (fs::is_regular_file(place / "libtorch_cpu.so", error)) return place.lexically_normal().string();
  }
  return std::nullopt;
}

}  // namespace

std::string find_libtorch() {
  if (const char* named = ::getenv("DEEPGAP_LIBTORCH"); named != nullptr && *named != '\0') {
    if (const auto found = libraries_in(named)) return *found;
    refuse(fmt::format("no libtorch_cpu.so in {} (given by --libtorch or DEEPGAP_LIBTORCH), nor in its lib or torch/lib", named));
  }
  static const int anchor = 0;
  std::vector<std::string> tried;
  for (const std::string& folder : own_library_folders(&anchor)) {
    tried.push_back(folder + "/torch");
    if (const auto found = libraries_in(tried.back())) return *found;
  }
  const std::string python = torch_of_python();
  if (!python.empty()) {
    if (const auto found = libraries_in(python)) return *found;
    tried.push_back(python);
  }
  refuse(fmt::format("no libtorch_cpu.so in {}{}; give --libtorch DIR, or install torch=={}", join(tried, ", "),
                     python.empty() ? ", and the Python on PATH has no torch" : "", DEEPGAP_LIBTORCH_VERSION));
}

std::string torch_of_python() {
  // Isolated (-I), since `python3 -c` looks into the working directory first.
  constexpr const char* command =
      "python3 -I -c 'import importlib.util as u; s = u.find_spec(\"torch\"); print(s.submodule_search_locations[0] if s else \"\")' "
      "2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command, "r"), ::pclose);
  if (!pipe) return {};
  std::array<char, 4096> line{};
  if (std::fgets(line.data(), line.size(), pipe.get()) == nullptr) return {};
  return trim(line.data());
}

std::string libtorch_version(const std::string& folder) {
  const fs::path package = fs::path(folder).parent_path();
  std::error_code error;
  if (fs::is_regular_file(package / "version.py", error)) {
    for (const std::string& line : split(read_text((package / "version.py").string()), '\n')) {
      if (line.starts_with("__version__ = '")) return line.substr(15, line.find('\'', 15) - 15);
    }
  }
  if (fs::is_regular_file(package / "build-version", error)) return trim(read_text((package / "build-version").string()));
  return {};
}

std::string libtorch_version_defect(const std::string& version, const std::string& built) {
  const auto minor = [](const std::string& v) { return v.substr(0, v.find('.', v.find('.') + 1)); };
  if (version.empty() || minor(version) == minor(built)) return {};
  return fmt::format("it is version {}, this plug-in needs {}", version, minor(built));
}

}  // namespace deepgap
