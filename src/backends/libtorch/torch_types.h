// deepgap's tensors as ATen's.
#pragma once

#include <deepgap/tensor.h>

#include <ATen/core/Tensor.h>

#include <span>

namespace deepgap {

at::ScalarType torch_type(DataType type);
// A tensor over somebody's bytes, which outlive it and are not written to.
at::Tensor torch_view(DataType type, std::span<const int64_t> shape, const std::byte* data);
// A copy of a constant, whose bytes may be unaligned.
at::Tensor torch_copy(const Tensor& tensor);

}  // namespace deepgap
