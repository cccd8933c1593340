// Multiply-adds in AMX tiles: 16 rows of 64 bytes. Six tiles are sums, two hold what is multiplied.
#include "base/cpu.h"
#include "ceilings/kernels.h"

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

namespace deepgap {
namespace {

constexpr int rows = 16, row_bytes = 64, tiles = 8;

struct alignas(64) TileSettings {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t column_bytes[16] = {};
  uint8_t row_count[16] = {};
};

struct alignas(64) TileData {
  uint8_t bytes[rows][row_bytes];
};

// Tiles are state that Linux keeps for a process only when asked (Documentation/arch/x86/xstate.rst).
bool permitted() {
  constexpr int request_permission = 0x1023, tile_data = 18;
  static const bool granted = ::syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  return granted;
}

bool has_tiles() { return __builtin_cpu_supports("amx-tile") && !amx_tiles_are_hidden() && permitted(); }
bool has_bf16() { return __builtin_cpu_supports("amx-bf16") && has_tiles(); }
bool has_int8() { return __builtin_cpu_supports("amx-int8") && has_tiles(); }

__attribute__((target("amx-tile"))) void configure() {
  TileSettings settings;
  for (int tile = 0; tile < tiles; ++tile) {
    settings.column_bytes[tile] = row_bytes;
    settings.row_count[tile] = rows;
  }
  _tile_loadconfig(&settings);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
}

TileData filled(uint16_t with) {
  TileData data;
  for (auto& row : data.bytes)
    for (int i = 0; i < row_bytes; i += 2) std::memcpy(&row[i], &with, sizeof with);
  return data;
}

__attribute__((target("amx-tile,amx-bf16"))) void run_bf16(int64_t iterations) {
  configure();
  const TileData a = filled(0x3c23), b = filled(0x3ca4);  // about 0.01 and 0.02
  TileData sum;
  _tile_loadd(6, &a, row_bytes);
  _tile_loadd(7, &b, row_bytes);
  for (int64_t n = 0; n < iterations; ++n) {
    _tile_dpbf16ps(0, 6, 7);
    _tile_dpbf16ps(1, 6, 7);
    _tile_dpbf16ps(2, 6, 7);
    _tile_dpbf16ps(3, 6, 7);
    _tile_dpbf16ps(4, 6, 7);
    _tile_dpbf16ps(5, 6, 7);
  }
  _tile_stored(0, &sum, row_bytes);
  int_sink = sum.bytes[0][0];
  _tile_release();
}

__attribute__((target("amx-tile,amx-int8"))) void run_int8(int64_t iterations) {
  configure();
  const TileData a = filled(0x0303), b = filled(0xfbfb);
  TileData sum;
  _tile_loadd(6, &a, row_bytes);
  _tile_loadd(7, &b, row_bytes);
  for (int64_t n = 0; n < iterations; ++n) {
    _tile_dpbusd(0, 6, 7);
    _tile_dpbusd(1, 6, 7);
    _tile_dpbusd(2, 6, 7);
    _tile_dpbusd(3, 6, 7);
    _tile_dpbusd(4, 6, 7);
    _tile_dpbusd(5, 6, 7);
  }
  _tile_stored(0, &sum, row_bytes);
  int_sink = sum.bytes[0][0];
  _tile_release();
}

}  // namespace

// Each instruction multiplies 16 rows by 16 columns, over as many elements as a row holds.
const ComputeKernel amx_bf16{"bf16", "AMX BF16", has_bf16, run_bf16,
                             [](int64_t n) { return static_cast<double>(n) * 6 * 16 * 16 * 32 * 2; }};
const ComputeKernel amx_int8{"int8", "AMX INT8", has_int8, run_int8,
                             [](int64_t n) { return static_cast<double>(n) * 6 * 16 * 16 * 64 * 2; }};

}  // namespace deepgap
