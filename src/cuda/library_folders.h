// Folders in which NVIDIA's libraries may lie that come with a toolkit or with an engine's packages: the compiler, the profiler.
#pragma once

#include <filesystem>
#include <vector>

namespace deepgap::cuda {

// In the order to look in: where the CUDA runtime lies that an engine has loaded, beside the torch of $DEEPGAP_LIBTORCH or of deepgap's own
// libraries, a toolkit in $CUDA_HOME or /usr/local/cuda. Folders that are not there may be among them.
std::vector<std::filesystem::path> library_folders();

}  // namespace deepgap::cuda
