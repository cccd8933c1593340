// A tile of 16 rows by 32 lanes is two AMX tiles of sums. The left operand lies line by line, the right one in pairs along the depth, as
// TDPBF16PS reads them: [depth / 2][lane][2]. Depths are filled up to 32 with zeros.
#include "engine/cpu/attention_amx.h"

#include "base/rounding.h"
#include "engine/cpu/attention_softmax.h"
#include "engine/cpu/isa.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace deepgap {

#if defined(__x86_64__)

namespace {

constexpr int64_t tile_rows = 16, tile_lanes = 32, depth_step = 32;

int64_t padded(int64_t depth) { return round_up(depth, depth_step); }

// Read by LDTILECFG: eight tiles of 16 rows and 64 bytes. Constant, since the compiler does not know that the intrinsic reads it all.
struct alignas(64) TileConfiguration {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t bytes_per_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfiguration configuration;

[[gnu::target("amx-tile")]] void configure_tiles() { _tile_loadconfig(&configuration); }
[[gnu::target("amx-tile")]] void release_tiles() { _tile_release(); }

[[gnu::target("amx-tile,amx-bf16")]] void multiply_tiles(const uint16_t* left, int64_t left_stride, const uint16_t* right, int64_t depth,
                                                         float* tile) {
  constexpr int stride = tile_lanes * 4;  // bytes of a row of sums, and of a pair of the right operand
  _tile_loadd(0, tile, stride);
  _tile_loadd(1, tile + 16, stride);
  for (int64_t k = 0; k < depth; k += depth_step) {
    _tile_loadd(2, left + k, left_stride * 2);
    _tile_loadd(3, right + k * tile_lanes, stride);
    _tile_loadd(4, right + k * tile_lanes + 32, stride);
    _tile_dpbf16ps(0, 2, 3);
    _tile_dpbf16ps(1, 2, 4);
  }
  _tile_stored(0, tile, stride);
  _tile_stored(1, tile + 16, stride);
}

[[gnu::target("avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512")]] void take_in_avx512(float* scores, int64_t count,
                                                                                                  RunningSoftmax& running) {
  take_in_scores<tile_lanes>(scores, count, running);
}

// [depth][lanes] in pairs.
[[gnu::target("avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512")]] void pair_up(const float* sums, int64_t depth, uint32_t* to) {
  const auto rounded = [](float value) __attribute__((always_inline)) {
    const auto bits = std::bit_cast<uint32_t>(value);
    return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;  // exponentials: no NaN but of a NaN, which stays one
  };
  int64_t k = 0;
  for (; k + 1 < depth; k += 2)
    for (int64_t c = 0; c < tile_lanes; ++c)
      to[k / 2 * tile_lanes + c] = rounded(sums[k * tile_lanes + c]) | rounded(sums[(k + 1) * tile_lanes + c]) << 16;
  if (k < depth) {
    for (int64_t c = 0; c < tile_lanes; ++c) to[k / 2 * tile_lanes + c] = rounded(sums[k * tile_lanes + c]);
    k += 2;
  }
  std::fill(to + k / 2 * tile_lanes, to + padded(depth) / 2 * tile_lanes, 0);
}

class AmxProducts : public AttentionProducts {
 public:
  int64_t rows() const override { return tile_rows; }
  DataType factors() const override { return DataType::bf16; }
  int64_t lanes() const override { return tile_lanes; }
  size_t left_bytes(int64_t depth) const override { return static_cast<size_t>(padded(depth) * tile_rows) * 2; }
  size_t right_bytes(int64_t depth) const override { return static_cast<size_t>(padded(depth) * tile_lanes) * 2; }

  void pack_left(const AttentionOperand& from, std::byte* panel) const override {
    auto* to = reinterpret_cast<uint16_t*>(panel);
    const int64_t width = padded(from.depth);
    std::fill_n(to, width * tile_rows, uint16_t{0});
    const auto* data = reinterpret_cast<const uint16_t*>(from.data) + from.offset;
    if (from.depth_step == 1) {
      for (int64_t line = 0; line < from.count; ++line)
        std::memcpy(to + line * width, data + line * from.line_step, static_cast<size_t>(from.depth) * 2);
    } else {
      for (int64_t d = 0; d < from.depth; ++d)
        for (int64_t line = 0; line < from.count; ++line) to[line * width + d] = data[d * from.depth_step + line * from.line_step];
    }
  }
  void pack_right(const AttentionOperand& from, std::byte* panel) const override {
    auto* to = reinterpret_cast<uint16_t*>(panel);
    std::fill_n(to, padded(from.depth) * tile_lanes, uint16_t{0});
    const auto* data = reinterpret_cast<const uint16_t*>(from.data) + from.offset;
    for (int64_t line = 0; line < from.count; ++line)
      for (int64_t d = 0; d < from.depth; ++d)
        to[(d / 2 * tile_lanes + line) * 2 + d % 2] = data[d * from.depth_step + line * from.line_step];
  }
  const std::byte* right_of(const float* sums, int64_t depth, std::byte* panel) const override {
    pair_up(sums, depth, reinterpret_cast<uint32_t*>(panel));
    return panel;
  }
  void multiply(const std::byte* left, int64_t left_depth, int64_t first, const std::byte* right, int64_t depth,
                float* tile) const override {
    multiply_tiles(reinterpret_cast<const uint16_t*>(left) + first, padded(left_depth), reinterpret_cast<const uint16_t*>(right), depth,
                   tile);
  }
  void take_in(float* scores, int64_t count, RunningSoftmax& running) const override { take_in_avx512(scores, count, running); }
  void begin() const override { configure_tiles(); }
  void end() const override { release_tiles(); }
};

}  // namespace

const AttentionProducts* amx_attention_products() {
  static const AmxProducts products;
  return uses_amx() ? &products : nullptr;
}

#else

const AttentionProducts* amx_attention_products() { return nullptr; }

#endif

}  // namespace deepgap
