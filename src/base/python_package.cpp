#include "base/python_package.h"

#include "base/text.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <memory>

namespace deepgap {

std::string folder_of_python_package(const std::string& package) {
  // Isolated (-I), since `python3 -c` looks into the working directory first.
  const std::string command = fmt::format(
      "python3 -I -c 'import importlib.util as u; s = u.find_spec(\"{}\"); print((s.submodule_search_locations or [\"\"])[0] if s else "
      "\"\")' "
      "2>/dev/null",
      package);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  if (!pipe) return {};
  std::array<char, 4096> line{};
  if (std::fgets(line.data(), line.size(), pipe.get()) == nullptr) return {};
  return trim(line.data());
}

}  // namespace deepgap
