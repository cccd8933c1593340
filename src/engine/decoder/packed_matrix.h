// A weight matrix as the decoder's inner loops read it: eight rows side by side, so that a vector register holds a number of each row and
// no sum runs across a register. Quantized weights keep their bits; only their order changes.
//
// A group of eight rows holds its blocks of columns one after another. A block of 32 columns of Q4_1 is eight scales and eight offsets
// (FP16, one a row), then four chunks of 32 bytes: four bytes of each row, whose low halves are columns 4j to 4j+3 and whose high halves
// are columns 16+4j to 16+4j+3. Q8_0 has eight chunks of four columns, a byte each. Plain numbers stand column after column, eight rows
// each.
#pragma once

#include "model/gguf/weight_type.h"

#include <deepgap/tensor.h>

#include <cstdint>

namespace deepgap {

struct PackedMatrix {
  static constexpr int64_t rows_a_group = 8;
  static constexpr int64_t quantized_columns = 32;  // columns that share a scale of the other factor

  WeightType type = WeightType::f32;
  int64_t rows = 0, columns = 0;
  int64_t group_bytes = 0;
  Tensor data;  // u8

  int64_t groups() const { return (rows + rows_a_group - 1) / rows_a_group; }
  const std::byte* group(int64_t index) const { return data.data.get() + index * group_bytes; }
  int64_t bytes() const { return groups() * group_bytes; }
  // Returns whether the other factor is read as 8-bit integers.
  bool multiplies_integers() const { return type != WeightType::f32 && type != WeightType::f16 && type != WeightType::bf16; }
};

// `rows` are stored row after row, in blocks as GGUF has them. A last group that is not full is filled with zeros. Columns of a quantized
// type are a multiple of 32.
PackedMatrix pack_matrix(WeightType type, int64_t rows, int64_t columns, const std::byte* data);

}  // namespace deepgap
