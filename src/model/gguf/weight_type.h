// The formats of a weight matrix in GGUF files: plain, or in blocks of low-bit integers that share a scale. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace deepgap {

enum class WeightType : uint8_t { f32, f16, bf16, q8_0, q4_0, q4_1, q4_k, q6_k };

// A row of a matrix is a whole number of blocks.
struct WeightFormat {
  WeightType type = WeightType::f32;
  uint32_t gguf_number = 0;  // as GGUF files name it
  std::string_view name;     // "Q4_1"
  int64_t block = 1;         // numbers in a block
  int64_t block_bytes = 4;
};

std::span<const WeightFormat> weight_formats();
const WeightFormat& format_of(WeightType type);
const WeightFormat* find_weight_format(uint32_t gguf_number);       // nullptr: another type
const WeightFormat* find_weight_format(std::string_view any_case);  // by its name; nullptr: unknown
// The name of a type that GGUF defines, supported or not; "type 99" for others.
std::string gguf_type_name(uint32_t gguf_number);

// Bytes of a row of `columns` numbers, which must be a multiple of the block.
int64_t row_bytes(WeightType type, int64_t columns);

// Writes the `values.size()` numbers of a row of blocks as floats.
void dequantize_row(WeightType type, const std::byte* row, std::span<float> values);
// Writes a row of floats in the given format: f32, f16, bf16, q8_0, q4_0 or q4_1. Throws Error{internal} for the others.
void quantize_row(WeightType type, std::span<const float> values, std::byte* row);

// Reads the scales of a group of 32 numbers from the twelve bytes of scales in a Q4_K block.
struct SixBits {
  uint8_t scale = 0, offset = 0;
};
SixBits q4_k_scales(const std::byte* twelve, int group);
// The 256 numbers of a Q6_K block, from -32 to 31, without their scales.
void q6_k_numbers(const std::byte* block, int8_t* to);

}  // namespace deepgap
