#include "cuda/library_folders.h"

#include "base/own_libraries.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>

namespace deepgap::cuda {
namespace {

namespace fs = std::filesystem;

// Packages of NVIDIA lie in nvidia/PART/lib of a folder of packages.
void add_packages(const fs::path& packages, std::vector<fs::path>& folders) {
  std::error_code error;
  for (const auto& part : fs::directory_iterator(packages / "nvidia", error)) folders.push_back(part.path() / "lib");
}

// Beside a torch: its libraries lie in torch/lib, NVIDIA's in nvidia/PART/lib of the same folder of packages.
void add_beside_torch(const fs::path& libraries, std::vector<fs::path>& folders) {
  std::error_code error;
  const fs::path real = fs::canonical(libraries, error);
  if (error) return;
  add_packages(real.parent_path(), folders);
  add_packages(real.parent_path().parent_path(), folders);
}

// Adds the folders beside a CUDA runtime that an engine has loaded into this process: its packages bring the compiler, too.
void add_beside_runtime(std::vector<fs::path>& folders) {
  for (const char* name : {"libcudart.so.13", "libcudart.so.12"}) {
    void* runtime = ::dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    const link_map* map = nullptr;
    if (runtime != nullptr && ::dlinfo(runtime, RTLD_DI_LINKMAP, &map) == 0) folders.push_back(fs::path(map->l_name).parent_path());
    if (runtime != nullptr) ::dlclose(runtime);
  }
}

}  // namespace

std::vector<fs::path> library_folders() {
  static const int anchor = 0;
  std::vector<fs::path> folders;
  add_beside_runtime(folders);
  if (const char* torch = ::getenv("DEEPGAP_LIBTORCH"); torch != nullptr && *torch != '\0') add_beside_torch(torch, folders);
  for (const std::string& own : own_library_folders(&anchor)) {
    folders.emplace_back(own);
    add_beside_torch(own + "/torch", folders);
  }
  if (const char* home = ::getenv("CUDA_HOME"); home != nullptr && *home != '\0') folders.push_back(fs::path(home) / "lib64");
  folders.emplace_back("/usr/local/cuda/lib64");
  return folders;
}

}  // namespace deepgap::cuda
