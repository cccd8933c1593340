#include "base/cpu.h"

#include <cpuid.h>
#include <sched.h>

namespace deepgap {

std::optional<int> count_allowed_cpus() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return std::nullopt;
  return CPU_COUNT(&set);
}

bool amx_tiles_are_hidden() {
  constexpr unsigned features = 7, amx_tile_bit = 1U << 24, tile_information = 0x1D;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(features, 0, &eax, &ebx, &ecx, &edx) == 0 || (edx & amx_tile_bit) == 0) return false;
  eax = 0;  // becomes the highest palette
  return __get_cpuid_count(tile_information, 0, &eax, &ebx, &ecx, &edx) == 0 || eax == 0;
}

}  // namespace deepgap
