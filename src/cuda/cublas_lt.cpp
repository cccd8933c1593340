#include "cuda/cublas_lt.h"

#include "cuda/find_library.h"
#include "cuda/library_folders.h"

#include <deepgap/error.h>

#include <dlfcn.h>
#include <fmt/format.h>

namespace deepgap::cuda {
namespace {

FoundLibrary found(const std::string& library) {
  if (library.empty())
    return find_library({.title = "cuBLASLt",
                         .kind = "NVIDIA's library for products of matrices",
                         .names = {"libcublasLt.so.13", "libcublasLt.so.12"},
                         .variable = "DEEPGAP_CUBLASLT",
                         .package = "nvidia-cublas",
                         .folders = library_folders()});
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) throw Error(ErrorKind::refused, fmt::format("there is no cuBLASLt: {}", ::dlerror()));
  return {handle, library};
}

// CUDA_ERROR_STREAM_CAPTURE_*: the stream is being recorded, which tells nothing of the device.
bool is_of_recording(Result result) { return result >= 900 && result <= 907; }

const CublasLt* stand_in = nullptr;

}  // namespace

CublasLt open_cublas_lt(const std::string& library) {
  const FoundLibrary opened = found(library);
  CublasLt made;
  made.path = opened.path;
#define DEEPGAP_CUBLAS_LT_FIND(result, name, parameters) find_function(opened, "cuBLASLt", #name, made.name);
  DEEPGAP_CUBLAS_LT_FUNCTIONS(DEEPGAP_CUBLAS_LT_FIND)
#undef DEEPGAP_CUBLAS_LT_FIND
  return made;
}

const CublasLt& cublas_lt() {
  if (stand_in != nullptr) return *stand_in;
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
  const std::string message = fmt::format("cuBLASLt says {} while {}", name == nullptr ? std::to_string(result) : name, doing);
  if (result == lt_out_of_memory) throw Error(ErrorKind::out_of_memory, "out of memory: " + message);
  // The library has no word for a device that is lost.
  const Result state = driver().cuCtxSynchronize();
  if (!is_of_recording(state)) check(state, doing);
  throw Error(ErrorKind::internal, message);
}

CublasLtStandIn::CublasLtStandIn(const CublasLt& table) { stand_in = &table; }
CublasLtStandIn::~CublasLtStandIn() { stand_in = nullptr; }

}  // namespace deepgap::cuda
