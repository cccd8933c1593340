#include "base/own_libraries.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace deepgap {

std::vector<std::string> own_plugin_folders(const void* address) {
  namespace fs = std::filesystem;
  std::vector<std::string> folders;
  std::error_code error;
  Dl_info info{};
  if (::dladdr(address, &info) != 0 && info.dli_fname != nullptr) {
    const fs::path library = fs::canonical(info.dli_fname, error);
    if (!error) folders.push_back(library.parent_path().string());
  }
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) folders.push_back((program.parent_path().parent_path() / "lib" / "deepgap").string());
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  return folders;
}

std::vector<std::string> own_library_folders(const void* address) {
  std::vector<std::string> folders = own_plugin_folders(address);
  for (std::string& folder : folders) folder += "/deps";
  return folders;
}

}  // namespace deepgap
