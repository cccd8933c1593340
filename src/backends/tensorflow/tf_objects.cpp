#include "backends/tensorflow/tf_objects.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <array>
#include <utility>

namespace deepgap {
namespace {

constexpr std::array<std::pair<DataType, TfType>, 13> types{{{DataType::f32, TfType::f32},
                                                             {DataType::f64, TfType::f64},
                                                             {DataType::f16, TfType::f16},
                                                             {DataType::bf16, TfType::bf16},
                                                             {DataType::i8, TfType::i8},
                                                             {DataType::i16, TfType::i16},
                                                             {DataType::i32, TfType::i32},
                                                             {DataType::i64, TfType::i64},
                                                             {DataType::u8, TfType::u8},
                                                             {DataType::u16, TfType::u16},
                                                             {DataType::u32, TfType::u32},
                                                             {DataType::u64, TfType::u64},
                                                             {DataType::boolean, TfType::boolean}}};

TfTensor checked(TfTensorObject* made) {
  if (made == nullptr) throw Error(ErrorKind::out_of_memory, "out of memory: tensorflow makes no tensor");
  return TfTensor(made);
}

}  // namespace

TfType tf_type(DataType type) {
  for (const auto& [ours, theirs] : types)
    if (ours == type) return theirs;
  throw Error(ErrorKind::internal, fmt::format("tensorflow: type {}", name_of(type)));
}

DataType type_of_tf(TfType type) {
  for (const auto& [ours, theirs] : types)
    if (theirs == type) return ours;
  throw Error(ErrorKind::refused,
              fmt::format("tensorflow: tensors of its type {} are not taken, only numbers and truth values", static_cast<int>(type)));
}

TfTensor tf_view(DataType type, const Shape& shape, const std::byte* data) {
  const size_t bytes = static_cast<size_t>(element_count(shape)) * byte_size(type);
  return checked(tf().new_tensor(
      tf_type(type), shape.data(), static_cast<int>(shape.size()), const_cast<std::byte*>(data), bytes, [](void*, size_t, void*) {},
      nullptr));
}

TfTensor tf_shared(const Tensor& tensor) {
  auto* const owner = new std::shared_ptr<const std::byte>(tensor.data);
  const auto release = [](void*, size_t, void* argument) { delete static_cast<std::shared_ptr<const std::byte>*>(argument); };
  return checked(tf().new_tensor(tf_type(tensor.type), tensor.shape.data(), static_cast<int>(tensor.shape.size()),
                                 const_cast<std::byte*>(tensor.data.get()), tensor.bytes(), release, owner));
}

Shape shape_of(const TfTensorObject* tensor) {
  Shape shape;
  for (int i = 0; i < tf().num_dims(tensor); ++i) shape.push_back(tf().dim(tensor, i));
  return shape;
}

}  // namespace deepgap
