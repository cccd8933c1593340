#include "cuda/driver.h"

#include <deepgap/error.h>

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace deepgap::cuda {
namespace {

constexpr Result out_of_memory = 2, no_device = 100;

// After these the context answers nothing but the same error: a fault in a kernel, an uncorrectable memory error, a device that is gone.
constexpr std::array<Result, 13> lost_results{46, 214, 700, 702, 714, 715, 716, 717, 718, 719, 720, 721, 999};
constexpr std::array<std::string_view, 3> newer{"cuTensorMapEncodeTiled", "cuTensorMapEncodeIm2col", "cuMemcpyBatchAsync_v2"};
constexpr int oldest_version = 12000;  // cuLaunchKernelEx, cuGraphInstantiateWithFlags as they are used here

template <typename F>
void find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  const bool may_miss = std::find(newer.begin(), newer.end(), name) != newer.end();
  if (function == nullptr && !may_miss)
    throw Error(ErrorKind::refused,
                fmt::format("the NVIDIA driver is too old: its libcuda.so.1 has no {}; CUDA 12 or later is needed", name));
}

Driver opened_and_started() {
  const Driver made = open_driver({});
  start(made);
  return made;
}

}  // namespace

Driver open_driver(const std::string& library) {
  const char* name = library.empty() ? "libcuda.so.1" : library.c_str();
  void* handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) throw Error(ErrorKind::refused, fmt::format("there is no NVIDIA driver: {}", ::dlerror()));
  Driver made;
#define DEEPGAP_CUDA_FIND(name, parameters) find(handle, #name, made.name);
  DEEPGAP_CUDA_FUNCTIONS(DEEPGAP_CUDA_FIND)
#undef DEEPGAP_CUDA_FIND
  return made;
}

void start(const Driver& opened) {
  const Result result = opened.cuInit(0);
  if (result == no_device) throw Error(ErrorKind::refused, "the NVIDIA driver finds no GPU");
  const char* name = nullptr;
  opened.cuGetErrorName(result, &name);
  if (result != 0)
    throw Error(ErrorKind::refused, fmt::format("the NVIDIA driver does not start: {}", name == nullptr ? std::to_string(result) : name));
  int version = 0;
  opened.cuDriverGetVersion(&version);
  if (version < oldest_version)
    throw Error(ErrorKind::refused,
                fmt::format("the NVIDIA driver is too old: it is for CUDA {}.{}, and 12.0 is needed", version / 1000, version % 1000 / 10));
}

const Driver& driver() {
  if (const Driver* played = DriverStandIn::current()) return *played;
  static const Driver instance = opened_and_started();
  return instance;
}

std::string describe(Result result) {
  const char *name = nullptr, *text = nullptr;
  driver().cuGetErrorName(result, &name);
  driver().cuGetErrorString(result, &text);
  return fmt::format("{}: {}", name == nullptr ? "unknown" : name, text == nullptr ? std::to_string(result) : text);
}

void check(Result result, const std::string& doing) {
  if (result == 0) return;
  const std::string message = fmt::format("{} while {}", describe(result), doing);
  if (result == out_of_memory) throw Error(ErrorKind::out_of_memory, "out of memory: " + message);
  if (std::find(lost_results.begin(), lost_results.end(), result) != lost_results.end())
    throw Error(ErrorKind::device_lost, "device lost: " + message);
  throw Error(ErrorKind::internal, message);
}

}  // namespace deepgap::cuda
