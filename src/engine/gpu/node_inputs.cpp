#include "engine/gpu/node_inputs.h"

#include "model/graph_tools.h"

#include <cstring>

namespace deepgap::gpu {

std::optional<std::vector<int64_t>> NodeInputs::integers(size_t index) const {
  const Tensor* tensor = has(index) ? lowering_.constant(node_.inputs[index]) : nullptr;
  if (tensor == nullptr) return std::nullopt;
  if (tensor->type == DataType::i64) {
    std::vector<int64_t> values(static_cast<size_t>(element_count(tensor->shape)));
    std::memcpy(values.data(), tensor->data.get(), tensor->bytes());
    return values;
  }
  if (tensor->type != DataType::i32) return std::nullopt;
  std::vector<int32_t> values(static_cast<size_t>(element_count(tensor->shape)));
  std::memcpy(values.data(), tensor->data.get(), tensor->bytes());
  return std::vector<int64_t>(values.begin(), values.end());
}

std::optional<float> NodeInputs::number(size_t index) const {
  const Tensor* tensor = has(index) ? lowering_.constant(node_.inputs[index]) : nullptr;
  if (tensor == nullptr || tensor->type != DataType::f32 || element_count(tensor->shape) != 1) return std::nullopt;
  float value = 0;
  std::memcpy(&value, tensor->data.get(), sizeof value);
  return value;
}

bool NodeInputs::is_open(size_t index) const { return has(index) && lowering_.constant(node_.inputs[index]) == nullptr; }

int64_t NodeInputs::int_of(std::string_view name, int64_t fallback) const { return attribute_int(node_, name, fallback); }

std::vector<int64_t> NodeInputs::ints_or_input(std::string_view attribute, size_t index, const std::vector<int64_t>& fallback) const {
  if (const auto given = integers(index)) return *given;
  return attribute_ints(node_, attribute, fallback);
}

}  // namespace deepgap::gpu
