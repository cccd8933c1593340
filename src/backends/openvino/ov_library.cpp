#include "backends/openvino/ov_library.h"

#include <cpuid.h>
#include <stdlib.h>

#include <algorithm>
#include <vector>

namespace deepgap {
namespace {

// Before the library's kernels look at the CPU, which they do once.
ov::Core* make_core() {
  if (amx_tiles_are_hidden()) ::setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16", 0);
  return new ov::Core;
}

}  // namespace

bool amx_tiles_are_hidden() {
  constexpr unsigned features = 7, amx_tile_bit = 1u << 24, tile_information = 0x1D;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(features, 0, &eax, &ebx, &ecx, &edx) == 0 || (edx & amx_tile_bit) == 0) return false;
  eax = 0;  // becomes the highest palette
  return __get_cpuid_count(tile_information, 0, &eax, &ebx, &ecx, &edx) == 0 || eax == 0;
}

ov::Core& ov_core() {
  static auto* const core = make_core();
  return *core;
}

std::string ov_cpu_name() {
  static const std::string name = ov_core().get_property("CPU", ov::device::full_name);
  return name;
}

bool ov_cpu_can(const std::string& capability) {
  static const std::vector<std::string> all = ov_core().get_property("CPU", ov::device::capabilities);
  return std::find(all.begin(), all.end(), capability) != all.end();
}

}  // namespace deepgap
