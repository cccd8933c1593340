// Tensors as the library's values.
#pragma once

#include "backends/onnxruntime/ort_library.h"

#include <deepgap/tensor.h>

#include <string>

namespace deepgap {

// A value over bytes that the caller keeps. The library takes constant data for inputs by a pointer that is not; it does not write there.
OrtValueHandle ort_value_over(const OrtMemoryInfo* memory, const void* data, DataType type, const Shape& shape);
// Returns the tensor in a value that the library made, in host memory; `shape` gets its sizes. If its type is not `type`, throws
// Error{input} naming the output.
TensorView ort_tensor(OrtValue* value, const std::string& output, DataType type, Shape& shape);

}  // namespace deepgap
