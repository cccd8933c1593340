#include "cuda/cublas_lt.h"

#include "cuda/find_library.h"
#include "cuda/library_folders.h"
#include "cuda/library_result.h"

#include <fmt/format.h>

namespace deepgap::cuda {
CublasLt open_cublas_lt(const std::string& library) {
  const FoundLibrary opened = find_library({.title = "cuBLASLt",
                                            .kind = "NVIDIA's GEMM library",
                                            .names = {"libcublasLt.so.13", "libcublasLt.so.12"},
                                            .variable = "DEEPGAP_CUBLASLT",
                                            .package = "nvidia-cublas",
                                            .folders = library_folders()},
                                           library);
  CublasLt made;
  made.path = opened.path;
#define DEEPGAP_CUBLAS_LT_FIND(result, name, parameters) find_function(opened, "cuBLASLt", #name, made.name);
  DEEPGAP_CUBLAS_LT_FUNCTIONS(DEEPGAP_CUBLAS_LT_FIND)
#undef DEEPGAP_CUBLAS_LT_FIND
  return made;
}

const CublasLt& cublas_lt() {
  if (const CublasLt* played = CublasLtStandIn::current()) return *played;
  static const CublasLt instance = open_cublas_lt({});
  return instance;
}

std::string CublasLt::version() const {
  const size_t number = cublasLtGetVersion();
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

void check_lt(LtResult result, const std::string& doing) {
  if (result == 0) return;
  const char* name = cublas_lt().cublasLtGetStatusName(result);
  throw_library_error("cuBLASLt", name == nullptr ? std::to_string(result) : name, doing, result == lt_out_of_memory);
}

}  // namespace deepgap::cuda
