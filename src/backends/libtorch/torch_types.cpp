#include "backends/libtorch/torch_types.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <cstring>

namespace deepgap {

at::ScalarType torch_type(DataType type) {
  switch (type) {
    case DataType::f32:
      return at::kFloat;
    case DataType::f64:
      return at::kDouble;
    case DataType::f16:
      return at::kHalf;
    case DataType::bf16:
      return at::kBFloat16;
    case DataType::i8:
      return at::kChar;
    case DataType::i16:
      return at::kShort;
    case DataType::i32:
      return at::kInt;
    case DataType::i64:
      return at::kLong;
    case DataType::u8:
      return at::kByte;
    case DataType::u16:
      return at::kUInt16;
    case DataType::u32:
      return at::kUInt32;
    case DataType::u64:
      return at::kUInt64;
    case DataType::boolean:
      return at::kBool;
  }
  return at::kFloat;
}

at::Tensor torch_view(DataType type, std::span<const int64_t> shape, const std::byte* data) {
  const at::IntArrayRef sizes(shape.data(), shape.size());
  return at::from_blob(const_cast<std::byte*>(data), sizes, at::TensorOptions(torch_type(type)));
}

at::Tensor torch_copy(const Tensor& tensor) {
  at::Tensor copy = at::empty(tensor.shape, at::TensorOptions(torch_type(tensor.type)));
  if (tensor.bytes() > 0) std::memcpy(copy.mutable_data_ptr(), tensor.data.get(), tensor.bytes());
  return copy;
}

}  // namespace deepgap
