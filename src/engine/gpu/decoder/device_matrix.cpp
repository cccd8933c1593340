#include "engine/gpu/decoder/device_matrix.h"

#include "model/eval/half.h"
#include "model/eval/parallel.h"

#include <cstring>

namespace deepgap::gpu {
namespace {

bool is_plain(WeightType type) { return type == WeightType::f32 || type == WeightType::f16 || type == WeightType::bf16; }

uint8_t at(const std::byte* from, int64_t i) { return static_cast<uint8_t>(from[i]); }
float half_at(const std::byte* from) {
  Half half;
  std::memcpy(&half, from, sizeof half);
  return to_float(half);
}

// 32 columns of a row: numbers as they are stored, what each 16 of them are multiplied with, and what is added then.
struct Columns {
  int numbers[32] = {};
  float scales[2] = {}, offset = 0;
};

void read_nibbles(const std::byte* bits, Columns& to) {
  for (int i = 0; i < 16; ++i) {
    to.numbers[i] = at(bits, i) & 15;
    to.numbers[i + 16] = at(bits, i) >> 4;
  }
}

Columns read_q4_k(const std::byte* block, int group) {
  Columns to;
  const SixBits six = q4_k_scales(block + 4, group);
  to.scales[0] = to.scales[1] = half_at(block) * static_cast<float>(six.scale);
  to.offset = -half_at(block + 2) * static_cast<float>(six.offset);
  for (int i = 0; i < 32; ++i) to.numbers[i] = at(block + 16 + 32 * (group / 2), i) >> 4 * (group % 2) & 15;
  return to;
}

Columns read_q6_k(const std::byte* block, int group) {
  Columns to;
  int8_t numbers[256];
  q6_k_numbers(block, numbers);
  for (int i = 0; i < 32; ++i) to.numbers[i] = numbers[32 * group + i];
  for (int i = 0; i < 2; ++i) to.scales[i] = half_at(block + 208) * static_cast<float>(static_cast<int8_t>(at(block, 192 + 2 * group + i)));
  return to;
}

Columns read_columns(WeightType type, const std::byte* row, int64_t index) {
  const WeightFormat& format = format_of(type);
  const int64_t a_block = format.block / 32;
  const std::byte* block = row + index / a_block * format.block_bytes;
  if (type == WeightType::q4_k) return read_q4_k(block, static_cast<int>(index % a_block));
  if (type == WeightType::q6_k) return read_q6_k(block, static_cast<int>(index % a_block));
  Columns to;
  to.scales[0] = to.scales[1] = half_at(block);
  if (type == WeightType::q4_1) to.offset = half_at(block + 2);
  if (type != WeightType::q8_0) {
    read_nibbles(block + (type == WeightType::q4_1 ? 4 : 2), to);
  } else {
    for (int i = 0; i < 32; ++i) to.numbers[i] = static_cast<int8_t>(at(block, 2 + i));
  }
  return to;
}

// Lane t of a row's four has of 32 columns four from 4t and four from 16 + 4t. Of bytes: a word each. Of nibbles both in a word: number m
// at bit 4 * (m / 2), the second of a pair 16 bits above the first.
void put_numbers(const MatrixFormat& format, const Columns& from, int64_t block, std::byte* lanes) {
  for (int t = 0; t < 4; ++t) {
    uint32_t words[2] = {0, 0};
    for (int i = 0; i < 8; ++i) {
      const int number = from.numbers[i / 4 * 16 + 4 * t + i % 4];
      if (format.bits == 8)
        words[i / 4] |= static_cast<uint32_t>(number & 255) << 8 * (i % 4);
      else
        words[0] |= static_cast<uint32_t>(number) << (4 * (i / 2) + 16 * (i % 2));
    }
    const size_t bytes = format.bits == 8 ? 8 : 4;
    std::memcpy(lanes + 16 * t + static_cast<int64_t>(bytes) * block, words, bytes);
  }
}

void put_scale(const MatrixFormat& format, float value, int64_t index, std::byte* to) {
  if (format.float_scales) {
    std::memcpy(to + 4 * index, &value, sizeof value);
  } else {
    const Half half = to_half(value);
    std::memcpy(to + 2 * index, &half, sizeof half);
  }
}

void put_scales(const MatrixFormat& format, const Columns& from, int64_t block, std::byte* to) {
  if (format.scale_group == 16) {
    for (int64_t i = 0; i < 2; ++i) put_scale(format, from.scales[i], 2 * block + i, to);
  } else if (format.has_offset) {
    put_scale(format, from.scales[0], 2 * block, to);
    put_scale(format, from.offset, 2 * block + 1, to);
  } else {
    put_scale(format, from.scales[0], block, to);
  }
}

// The row of the matrix that stands at place `row` of a tile; nullptr: none does.
const std::byte* row_at(const MatrixRows& from, int64_t tile, int64_t row) {
  const auto rows = static_cast<int64_t>(from.rows.size()), half = rows / 2;
  const int64_t index = from.gated ? tile * 8 + row % 8 : tile * tile_rows + row;
  if (index >= (from.gated ? half : rows)) return nullptr;
  return from.rows[static_cast<size_t>(from.gated && row >= 8 ? half + index : index)];
}

PackedNumbers pack_blocks(const MatrixRows& from, int64_t pitch) {
  const MatrixFormat format = matrix_format(from.type);
  const int64_t tiles = (static_cast<int64_t>(from.rows.size()) + tile_rows - 1) / tile_rows, chunks = pitch / format.chunk();
  const int64_t scale_bytes = 4 * format.scale_words, blocks_a_chunk = format.chunk() / 32;
  PackedNumbers to{std::vector<std::byte>(static_cast<size_t>(tiles * chunks * 1024)),
                   std::vector<std::byte>(static_cast<size_t>(tiles * chunks * tile_rows * scale_bytes))};
  parallel_for(tiles, static_cast<double>(tile_rows * from.columns), [&](int64_t tile) {
    for (int64_t row = 0; row < tile_rows; ++row) {
      const std::byte* source = row_at(from, tile, row);
      for (int64_t block = 0; source != nullptr && block < from.columns / 32; ++block) {
        const Columns columns = read_columns(from.type, source, block);
        const int64_t place = tile * chunks + block / blocks_a_chunk;
        put_numbers(format, columns, block % blocks_a_chunk, to.numbers.data() + place * 1024 + row / 8 * 512 + row % 8 * 64);
        put_scales(format, columns, block % blocks_a_chunk, to.scales.data() + (place * tile_rows + row) * scale_bytes);
      }
    }
  });
  return to;
}

PackedNumbers pack_plain(const MatrixRows& from, WeightType halves, int64_t pitch) {
  PackedNumbers to{std::vector<std::byte>(from.rows.size() * static_cast<size_t>(2 * pitch)), {}};
  parallel_for(static_cast<int64_t>(from.rows.size()), static_cast<double>(from.columns), [&](int64_t row) {
    std::byte* own = to.numbers.data() + row * 2 * pitch;
    const std::byte* source = from.rows[static_cast<size_t>(row)];
    if (from.type == halves) {
      std::memcpy(own, source, static_cast<size_t>(2 * from.columns));
      return;
    }
    std::vector<float> values(static_cast<size_t>(from.columns));
    dequantize_row(from.type, source, values);
    quantize_row(halves, values, own);
  });
  return to;
}

cuda::DeviceMemory uploaded(const std::vector<std::byte>& bytes) {
  cuda::DeviceMemory memory(bytes.size());
  if (!bytes.empty()) cuda::upload(memory.address(), bytes.data(), bytes.size());
  return memory;
}

}  // namespace

MatrixFormat matrix_format(WeightType type) {
  switch (type) {
    case WeightType::q8_0:
      return {.bits = 8, .scale_words = 1};
    case WeightType::q6_k:
      return {.bits = 8, .scale_words = 4, .scale_group = 16, .float_scales = true};
    case WeightType::q4_0:
      return {.bits = 4, .scale_words = 2, .is_signed = true};
    case WeightType::q4_1:
      return {.bits = 4, .scale_words = 4, .has_offset = true};
    case WeightType::q4_k:
      return {.bits = 4, .scale_words = 8, .float_scales = true, .has_offset = true};
    default:
      return {};
  }
}

int64_t column_unit(bool any_quantized) { return any_quantized ? 128 : 32; }
int64_t padded_columns(int64_t columns, bool any_quantized) {
  const int64_t unit = column_unit(any_quantized);
  return (columns + unit - 1) / unit * unit;
}

void MatrixRows::append(const DecoderWeight& weight) {
  type = weight.type;
  columns = weight.columns;
  for (int64_t row = 0; row < weight.rows; ++row) rows.push_back(weight.data.data.get() + row * row_bytes(type, columns));
}

int64_t DeviceMatrix::tiles() const { return gated ? (rows / 2 + 7) / 8 : (rows + tile_rows - 1) / tile_rows; }

void convert_rows(const DecoderWeight& weight, WeightType type, std::byte* to) {
  const std::byte* from = weight.data.data.get();
  parallel_for(weight.rows, static_cast<double>(weight.columns), [&](int64_t row) {
    std::vector<float> values(static_cast<size_t>(weight.columns));
    dequantize_row(weight.type, from + row * row_bytes(weight.type, weight.columns), values);
    quantize_row(type, values, to + row * row_bytes(type, weight.columns));
  });
}

PackedNumbers pack_rows(const MatrixRows& rows, WeightType halves, int64_t pitch) {
  return is_plain(rows.type) ? pack_plain(rows, halves, pitch) : pack_blocks(rows, pitch);
}

DeviceMatrix to_device(const MatrixRows& rows, WeightType halves, int64_t pitch) {
  const PackedNumbers packed = pack_rows(rows, halves, pitch);
  DeviceMatrix made;
  made.type = is_plain(rows.type) ? halves : rows.type;
  made.rows = static_cast<int64_t>(rows.rows.size());
  made.columns = rows.columns;
  made.pitch = pitch;
  made.gated = rows.gated;
  made.numbers = uploaded(packed.numbers);
  if (!packed.scales.empty()) made.scales = uploaded(packed.scales);
  return made;
}

}  // namespace deepgap::gpu
