// Element types and tensors as every part of deepgap passes them. Dense, row-major, no strides; layouts such as NHWC are an
// engine's private matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace deepgap {

enum class DataType : uint8_t { f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, boolean };

constexpr size_t byte_size(DataType type) {
  switch (type) {
    case DataType::f64:
    case DataType::i64:
    case DataType::u64:
      return 8;
    case DataType::f32:
    case DataType::i32:
    case DataType::u32:
      return 4;
    case DataType::f16:
    case DataType::bf16:
    case DataType::i16:
    case DataType::u16:
      return 2;
    default:
      return 1;
  }
}

constexpr std::string_view name_of(DataType type) {
  constexpr std::string_view names[] = {"float32", "float64", "float16", "bfloat16", "int8",   "int16", "int32",
                                        "int64",   "uint8",   "uint16",  "uint32",   "uint64", "bool"};
  return names[static_cast<size_t>(type)];
}

using Shape = std::vector<int64_t>;

// Returns the product of the sizes; 1 for a scalar. The reader checked sizes from files for overflow (model/checked.h).
inline int64_t element_count(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

// A view of constant bytes that somebody else owns. It is valid as long as their owner says.
struct TensorView {
  DataType type = DataType::f32;
  std::span<const int64_t> shape;
  const std::byte* data = nullptr;

  size_t bytes() const { return static_cast<size_t>(element_count(shape)) * byte_size(type); }
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data), static_cast<size_t>(element_count(shape))};
  }
};

// A constant tensor that shares ownership of its bytes (an initialiser, a folded value). Copying copies no data. The bytes are at
// least 64-byte aligned when made by make_tensor, and may be unaligned when they alias a file that was read: use memcpy or check.
struct Tensor {
  DataType type = DataType::f32;
  Shape shape;
  std::shared_ptr<const std::byte> data;

  size_t bytes() const { return static_cast<size_t>(element_count(shape)) * byte_size(type); }
  TensorView view() const { return {type, shape, data.get()}; }
  template <typename T>
  std::span<const T> as() const {
    return view().as<T>();
  }
};

// Returns a new tensor with uninitialised, writable bytes: fill `writable(t)` before sharing it.
inline Tensor make_tensor(DataType type, Shape shape) {
  Tensor tensor{type, std::move(shape), nullptr};
  const size_t bytes = tensor.bytes();
  auto* raw = static_cast<std::byte*>(::operator new (bytes == 0 ? 1 : bytes, std::align_val_t{64}));
  tensor.data = std::shared_ptr<const std::byte>(
      raw, [](const std::byte* p) { ::operator delete (const_cast<std::byte*>(p), std::align_val_t{64}); });
  return tensor;
}

// Returns the tensor's bytes. Only for the maker of a tensor, before anyone else holds it.
template <typename T>
std::span<T> writable(Tensor& tensor) {
  auto* data = const_cast<std::byte*>(tensor.data.get());
  return {reinterpret_cast<T*>(data), static_cast<size_t>(element_count(tensor.shape))};
}

}  // namespace deepgap
