// Contents of constant Tensors, whose bytes may be unaligned. Pure functions.
#pragma once

#include <deepgap/tensor.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace deepgap {

// Returns the elements of a Tensor of type T.
template <typename T>
std::vector<T> contents(const Tensor& tensor) {
  std::vector<T> values(static_cast<size_t>(element_count(tensor.shape)));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.get(), values.size() * sizeof(T));
  return values;
}

// Returns the elements of a Tensor of int64 or int32; nullopt for another type.
inline std::optional<std::vector<int64_t>> integer_contents(const Tensor& tensor) {
  if (tensor.type == DataType::i64) return contents<int64_t>(tensor);
  if (tensor.type != DataType::i32) return std::nullopt;
  const std::vector<int32_t> narrow = contents<int32_t>(tensor);
  return std::vector<int64_t>(narrow.begin(), narrow.end());
}

}  // namespace deepgap
