#include "kernels/occupancy.h"

#include "base/rounding.h"

#include <algorithm>

namespace deepgap {
namespace {

struct Limits {
  int threads, blocks;  // limits per multiprocessor
  int64_t shared_bytes;
};

std::optional<Limits> limits_of(int architecture) {
  switch (architecture) {
    case 60:
      return Limits{2048, 32, 64 << 10};
    case 61:
    case 70:
      return Limits{2048, 32, 96 << 10};
    case 75:
      return Limits{1024, 16, 64 << 10};
    case 80:
      return Limits{2048, 32, 164 << 10};
    case 86:
      return Limits{1536, 16, 100 << 10};
    case 89:
      return Limits{1536, 24, 100 << 10};
    case 90:
    case 100:
    case 103:
      return Limits{2048, 32, 228 << 10};
    case 120:
      return Limits{1536, 24, 100 << 10};
    default:
      return std::nullopt;
  }
}

constexpr int warp = 32, registers = 65536, registers_together = 256;  // registers of a warp are given out in parts of 256
constexpr int64_t reserved_shared = 1 << 10;                           // bytes reserved for each block, from Ampere on

}  // namespace

std::optional<Occupancy> occupancy_of(const Kernel& kernel, int architecture, int multiprocessors) {
  const auto limits = limits_of(architecture);
  const int threads = kernel.block[0] * kernel.block[1] * kernel.block[2];
  if (!limits || threads <= 0 || multiprocessors <= 0) return std::nullopt;
  const int warps = divide_up(threads, warp);
  const int of_warp = round_up(std::max(kernel.registers, 1) * warp, registers_together);
  const int64_t shared = kernel.shared_bytes + (architecture >= 80 ? reserved_shared : 0);
  const int by_threads = limits->threads / (warps * warp), by_registers = registers / of_warp / warps;
  const int64_t by_shared = shared == 0 ? limits->blocks : limits->shared_bytes / shared;
  Occupancy occupancy{limits->blocks, 0, "blocks", 0};
  const auto limit = [&](int64_t blocks, const char* what) {
    if (blocks >= occupancy.blocks) return;
    occupancy.blocks = static_cast<int>(blocks);
    occupancy.limiter = what;
  };
  limit(by_threads, "threads");
  limit(by_registers, "registers");
  limit(by_shared, "shared memory");
  // It ran, so one block fits: of a chip that holds more than the table says, or with registers of few threads.
  occupancy.blocks = std::max(occupancy.blocks, 1);
  occupancy.share = std::min(1.0, static_cast<double>(occupancy.blocks * warps * warp) / limits->threads);
  const double grid = static_cast<double>(kernel.grid[0]) * kernel.grid[1] * kernel.grid[2];
  occupancy.waves = grid / (static_cast<double>(occupancy.blocks) * multiprocessors);
  return occupancy;
}

}  // namespace deepgap
