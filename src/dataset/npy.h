// NumPy's .npy files (format 1.0 to 3.0), little-endian, C order.
#pragma once

#include <deepgap/tensor.h>

#include <string>

namespace deepgap {

// Throws Error{input} naming file and cause: other byte orders, Fortran order, objects, truncated or overlong data.
Tensor read_npy(const std::string& path);

}  // namespace deepgap
