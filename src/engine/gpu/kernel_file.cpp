#include "engine/gpu/kernel_file.h"

#include "kernel_files.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <map>

namespace deepgap::gpu {

const std::string& kernel_file(std::string_view name) {
  static const std::map<std::string, std::string, std::less<>> files = [] {
    std::map<std::string, std::string, std::less<>> by_name;
    for (const auto& [file, text] : kernel_files()) by_name.emplace(file, text);
    return by_name;
  }();
  const auto found = files.find(name);
  if (found == files.end()) throw Error(ErrorKind::internal, fmt::format("there is no kernel file '{}'", name));
  return found->second;
}

}  // namespace deepgap::gpu
