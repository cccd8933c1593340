// Element types of ONNX files that Tensor has none for: integers of 4 and 2 bits, floats of 8 and 4 bits. A constant of such a type is
// widened to one that holds its values exactly, so that shapes, the reference interpreter and engines that take our Graph see numbers that
// they know; the file's bytes are kept, and the writer puts them back, so that engines which read files get the file's own type. Pure; any
// thread.
#pragma once

#include <deepgap/tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace deepgap {

// Returns the type that an ONNX element type widens to: int8, uint8 or float32. nullopt: Tensor has the type, or it has no numbers.
std::optional<DataType> widened_type_of(int64_t onnx_type);
// Returns how many bytes `elements` take in the file.
int64_t packed_bytes(int64_t onnx_type, int64_t elements);

struct PackedContent {
  int64_t onnx_type = 0;
  std::vector<std::byte> bytes;
};
// REQUIRES: as many bytes as packed_bytes says.
Tensor unpack(PackedContent content, Shape shape);
// Returns a constant's content as its file has it; nullptr where it has its own type there. Copies of a tensor share it.
const PackedContent* packed_content(const Tensor& tensor);
// Returns how many bytes a constant takes in its file.
size_t stored_bytes(const Tensor& tensor);

// The value of the type that is nearest, ties to even; beyond the ends it is the end.
float nearest_value(int64_t onnx_type, float value);

}  // namespace deepgap
