// ONNX's numbers for element types. Used by the reader and the writer.
#pragma once

#include <deepgap/tensor.h>

#include <cstdint>
#include <optional>
#include <string>

namespace deepgap {

std::optional<DataType> data_type_of(int64_t onnx_type);  // nullopt: strings, complex, 8-bit floats, 4-bit integers, unknown numbers
int64_t onnx_type_of(DataType type);
std::string onnx_type_name(int64_t onnx_type);  // "STRING" or "number 99", for messages

}  // namespace deepgap
