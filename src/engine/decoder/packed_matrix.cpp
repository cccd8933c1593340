#include "engine/decoder/packed_matrix.h"

#include <cstring>

namespace deepgap {
namespace {

constexpr int64_t lanes = PackedMatrix::rows_a_group;

// Bytes of eight rows of a block, as GGUF cuts rows into blocks.
int64_t packed_block_bytes(WeightType type) {
  constexpr int64_t groups_of_k = 8;
  // The six-bit scales of Q4_K take a byte each.
  if (type == WeightType::q4_k) return lanes * (2 + 2) + groups_of_k * lanes * (1 + 1 + 16);
  // Each number of Q6_K takes a byte.
  if (type == WeightType::q6_k) return lanes * 2 + groups_of_k * lanes * (2 + 32);
  return lanes * format_of(type).block_bytes;
}

// The addresses at which row `lane` of a block begins in the source; nullptr past the last row.
using Blocks = const std::byte* const*;

uint8_t at(const std::byte* from, int64_t i) { return from == nullptr ? 0 : static_cast<uint8_t>(from[i]); }

// Copies `bytes` of each lane's source, `width` bytes of each in turn.
std::byte* interleave(Blocks from, int64_t offset, int64_t bytes, int64_t width, std::byte* to) {
  for (int64_t i = 0; i < bytes; i += width)
    for (int64_t lane = 0; lane < lanes; ++lane)
      for (int64_t b = 0; b < width; ++b) *to++ = static_cast<std::byte>(at(from[lane], offset + i + b));
  return to;
}

// Returns the byte that holds columns i and i + 16 of 32 numbers of four bits.
uint8_t pair_of_q4_k(const std::byte* block, int group, int64_t i) {
  if (block == nullptr) return 0;
  const std::byte* bits = block + 16 + 32 * (group / 2);
  const int shift = group % 2 == 0 ? 0 : 4;
  return static_cast<uint8_t>((at(bits, i) >> shift & 15) | (at(bits, i + 16) >> shift & 15) << 4);
}

void pack_q4_k(Blocks from, std::byte* to) {
  to = interleave(from, 0, 2, 2, to);  // scales of the scales
  to = interleave(from, 2, 2, 2, to);  // scales of the offsets
  for (int group = 0; group < 8; ++group) {
    for (int64_t lane = 0; lane < lanes; ++lane)
      *to++ = static_cast<std::byte>(from[lane] == nullptr ? 0 : q4_k_scales(from[lane] + 4, group).scale);
    for (int64_t lane = 0; lane < lanes; ++lane)
      *to++ = static_cast<std::byte>(from[lane] == nullptr ? 0 : q4_k_scales(from[lane] + 4, group).offset);
    for (int64_t chunk = 0; chunk < 4; ++chunk)
      for (int64_t lane = 0; lane < lanes; ++lane)
        for (int64_t b = 0; b < 4; ++b) *to++ = static_cast<std::byte>(pair_of_q4_k(from[lane], group, 4 * chunk + b));
  }
}

// Packs each 32 columns as eight scales of the first 16, eight of the others, then eight chunks of four columns.
void pack_q6_k(Blocks from, std::byte* to) {
  int8_t numbers[lanes][256] = {};
  for (int64_t lane = 0; lane < lanes; ++lane)
    if (from[lane] != nullptr) q6_k_numbers(from[lane], numbers[lane]);
  to = interleave(from, 208, 2, 2, to);
  for (int64_t group = 0; group < 8; ++group) {
    to = interleave(from, 192 + 2 * group, 2, 1, to);
    for (int64_t chunk = 0; chunk < 8; ++chunk)
      for (const auto& row : numbers)
        for (int64_t b = 0; b < 4; ++b) *to++ = static_cast<std::byte>(row[32 * group + 4 * chunk + b]);
  }
}

void pack_block(WeightType type, Blocks from, std::byte* to) {
  switch (type) {
    case WeightType::f32:
      interleave(from, 0, 4, 4, to);
      return;
    case WeightType::f16:
    case WeightType::bf16:
      interleave(from, 0, 2, 2, to);
      return;
    case WeightType::q8_0:
    case WeightType::q4_0:
      interleave(from, 2, format_of(type).block_bytes - 2, 4, interleave(from, 0, 2, 2, to));
      return;
    case WeightType::q4_1:
      interleave(from, 4, 16, 4, interleave(from, 2, 2, 2, interleave(from, 0, 2, 2, to)));
      return;
    case WeightType::q4_k:
      return pack_q4_k(from, to);
    case WeightType::q6_k:
      return pack_q6_k(from, to);
  }
}

}  // namespace

PackedMatrix pack_matrix(WeightType type, int64_t rows, int64_t columns, const std::byte* data) {
  PackedMatrix packed{type, rows, columns, 0, {}};
  const WeightFormat& format = format_of(type);
  const int64_t blocks = columns / format.block, source_row = blocks * format.block_bytes, bytes = packed_block_bytes(type);
  packed.group_bytes = blocks * bytes;
  constexpr int64_t slack = 64;  // bytes that a vector may read past the end
  packed.data = make_tensor(DataType::u8, {packed.groups() * packed.group_bytes + slack});
  std::byte* to = reinterpret_cast<std::byte*>(writable<uint8_t>(packed.data).data());
  const int64_t groups = packed.groups();
#pragma omp parallel for schedule(static)
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t b = 0; b < blocks; ++b) {
      const std::byte* from[lanes];
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const int64_t row = g * lanes + lane;
        from[lane] = row < rows ? data + row * source_row + b * format.block_bytes : nullptr;
      }
      pack_block(type, from, to + g * packed.group_bytes + b * bytes);
    }
  }
  std::memset(to + groups * packed.group_bytes, 0, static_cast<size_t>(slack));
  return packed;
}

}  // namespace deepgap
