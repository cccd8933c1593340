// Weight matrices of a decoder on a GPU, as kernels/decoder_product.cuh reads them: halves row after row, or integers of blocks with their
// scales apart, in the order in which a warp's lanes load them. Quantized weights keep their values; a number of Q6_K takes 8 bits.
#pragma once

#include "cuda/objects.h"
#include "model/decoder/decoder.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace deepgap::gpu {

// What the kernel is compiled for.
struct MatrixFormat {
  int bits = 16;         // bits a number
  int scale_words = 0;   // words of scales a row and chunk
  int scale_group = 32;  // columns that share a scale
  bool float_scales = false, has_offset = false, is_signed = false;
  int64_t chunk() const { return bits == 16 ? 32 : bits == 8 ? 64 : 128; }  // columns
};
MatrixFormat matrix_format(WeightType type);

inline constexpr int64_t tile_rows = 16;

// Columns are filled up with zeros to a multiple of these: of all matrices of a decoder alike, since they share their other factors.
int64_t column_unit(bool any_quantized);
int64_t padded_columns(int64_t columns, bool any_quantized);

// Rows of a matrix in the order of the result, wherever they lie; of one type.
struct MatrixRows {
  WeightType type = WeightType::f32;
  int64_t columns = 0;
  bool gated = false;                  // the first half of the rows gates the other
  std::vector<const std::byte*> rows;  // each as GGUF stores it

  void append(const DecoderWeight& weight);
};

struct DeviceMatrix {
  WeightType type = WeightType::f16;
  int64_t rows = 0, columns = 0;  // columns without padding
  int64_t pitch = 0;              // columns with it
  bool gated = false;
  cuda::DeviceMemory numbers, scales;

  int64_t tiles() const;
  int64_t chunks() const { return pitch / matrix_format(type).chunk(); }
  bool is_quantized() const { return matrix_format(type).bits != 16; }
  int64_t bytes() const { return static_cast<int64_t>(numbers.bytes() + scales.bytes()); }
};

// All rows of a matrix in another type, one after the other: of as many bytes as row_bytes says.
void convert_rows(const DecoderWeight& weight, WeightType type, std::byte* to);

// On the host: for tests, and on their way to the device.
struct PackedNumbers {
  std::vector<std::byte> numbers, scales;
};
// `halves`: f16 or bf16, to which rows of floats are converted.
PackedNumbers pack_rows(const MatrixRows& rows, WeightType halves, int64_t pitch);

DeviceMatrix to_device(const MatrixRows& rows, WeightType halves, int64_t pitch);

}  // namespace deepgap::gpu
