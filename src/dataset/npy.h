// NumPy's .npy files (format 1.0 to 3.0), little-endian, C order.
#pragma once

#include <deepgap/tensor.h>

#include <string>

namespace deepgap {

// Throws Error{input} naming file and cause: other byte orders, Fortran order, objects, truncated or overlong data.
Tensor read_npy(const std::string& path);
// Format 1.0; bfloat16, which NumPy lacks, as float32. Throws Error{input} naming file and cause.
void write_npy(const std::string& path, const Tensor& tensor);

}  // namespace deepgap
