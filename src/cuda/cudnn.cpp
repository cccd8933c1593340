#include "cuda/cudnn.h"

#include "cuda/find_library.h"
#include "cuda/library_folders.h"
#include "cuda/library_result.h"

#include <fmt/format.h>

namespace deepgap::cuda {
Cudnn open_cudnn(const std::string& library) {
  const FoundLibrary opened = find_library({.title = "cuDNN",
                                            .kind = "NVIDIA's library for networks",
                                            .names = {"libcudnn.so.9", "libcudnn.so.8"},
                                            .variable = "DEEPGAP_CUDNN",
                                            .package = "nvidia-cudnn-cu13",
                                            .folders = library_folders()},
                                           library);
  Cudnn made;
  made.path = opened.path;
#define DEEPGAP_CUDNN_FIND(result, name, parameters) find_function(opened, "cuDNN", #name, made.name);
  DEEPGAP_CUDNN_FUNCTIONS(DEEPGAP_CUDNN_FIND)
#undef DEEPGAP_CUDNN_FIND
  return made;
}

const Cudnn& cudnn() {
  if (const Cudnn* played = CudnnStandIn::current()) return *played;
  static const Cudnn instance = open_cudnn({});
  return instance;
}

std::string Cudnn::version() const {
  const size_t number = cudnnGetVersion(), of_major = number >= 90000 ? 10000 : 1000;
  return fmt::format("{}.{}.{}", number / of_major, number % of_major / 100, number % 100);
}

// Checks a result by its name: versions 8 and 9 count results differently.
void check_dnn(DnnResult result, const std::string& doing) {
  if (result == 0) return;
  const char* name = cudnn().cudnnGetErrorString(result);
  const std::string code = name == nullptr ? std::to_string(result) : name;
  throw_library_error("cuDNN", code, doing, code.find("ALLOC") != std::string::npos);
}

}  // namespace deepgap::cuda
