#include "model/content_check.h"

#include "model/graph_tools.h"
#include "model/node_reader.h"
#include "model/packed_weights.h"
#include "model/tensor_contents.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <set>
#include <string>

namespace deepgap {
namespace {

bool is_packed(const Tensor* constant) { return constant != nullptr && packed_content(*constant) != nullptr; }

// Values whose type in the file has fewer bits, which stand here in a wider one, a float among them (packed_weights.h).
std::set<ValueId> packed_values(const Graph& graph) {
  static const std::set<std::string, std::less<>> moving{"Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze", "Flatten"};
  std::set<ValueId> packed;
  for (const auto& [id, tensor] : graph.constants)
    if (is_packed(&tensor)) packed.insert(id);
  for (const Node& node : graph.nodes) {
    if (!node.domain.empty() || node.inputs.empty()) continue;
    const bool quantizes = node.op == "QuantizeLinear" && ((node.inputs.size() > 2 && packed.contains(node.inputs[2])) ||
                                                           widened_type_of(attribute_int(node, "output_dtype", 0)));
    if (quantizes || (moving.contains(node.op) && packed.contains(node.inputs[0]))) packed.insert(node.outputs[0]);
  }
  return packed;
}

bool is_levels(DataType type) {
  return type == DataType::u8 || type == DataType::i8 || type == DataType::u16 || type == DataType::i16 || type == DataType::i32;
}

void check_scale(const NodeReader& at) {
  const Tensor* scale = at.content(1);
  if (scale == nullptr || is_packed(scale)) return;  // powers of two
  if (scale->shape.size() > 1 && attribute_int(at.node, "block_size", 0) == 0)
    at.fail(fmt::format("its scale has {} dimensions; it is one value, or one for each slice of the axis", scale->shape.size()));
  if (scale->type != DataType::f32) return;
  const std::vector<float> scales = contents<float>(*scale);
  for (size_t i = 0; i < scales.size(); ++i) {
    const float value = scales[i];
    if (std::isnormal(value) && value > 0) continue;
    const char* what = std::isnan(value)   ? "NaN"
                       : std::isinf(value) ? "infinite"
                       : value == 0        ? "zero"
                       : value < 0         ? "negative"
                                           : "a denormal number";
    at.fail(fmt::format("scale {} is {} ({:g}); a scale must be a positive normal number", i, what, value));
  }
}

void check_zero_point(const NodeReader& at) {
  if (!at.has(2)) return;
  const DataType type = at.type(2);
  if (!is_levels(type) && !is_packed(at.content(2)))
    at.fail(fmt::format("the zero point is {}, which cannot hold quantized levels", name_of(type)));
  if (at.node.op == "QuantizeLinear") {
    if (type == DataType::i32) at.fail("the zero point is int32, to which nothing is quantized");
  } else if (type != at.type(0)) {
    at.fail(fmt::format("the zero point is {}, the levels are {}", name_of(type), name_of(at.type(0))));
  }
  const Tensor *zero = at.content(2), *scale = at.content(1);
  if (zero == nullptr) return;
  if (scale != nullptr && element_count(zero->shape) != element_count(scale->shape)) {
    at.fail(fmt::format("{} zero points for {} scales", element_count(zero->shape), element_count(scale->shape)));
  }
  if (type != DataType::i32) return;
  for (size_t i = 0; i < zero->bytes(); ++i) {
    if (zero->data.get()[i] != std::byte{0}) at.fail("the zero point of int32 levels must be 0");
  }
}

void check_types(const NodeReader& at, const std::set<ValueId>& packed) {
  if (at.node.inputs.size() < 2 || !at.has(0) || !at.has(1)) at.fail("it needs an input and a scale");
  if (at.node.op == "DequantizeLinear" && !is_levels(at.type(0)) && !packed.contains(at.node.inputs[0])) {
    at.fail(fmt::format("its input is {}, which cannot hold quantized levels", name_of(at.type(0))));
  }
  const DataType scale = at.type(1);
  if (scale != DataType::f32 && scale != DataType::f16 && scale != DataType::bf16)
    at.fail(fmt::format("its scale is {}; float32, float16 and bfloat16 are allowed", name_of(scale)));
}

// The first NaN of 16-bit floats: all exponent bits set and any of the fraction.
std::optional<size_t> first_nan16(const Tensor& tensor, uint16_t exponent) {
  const auto count = static_cast<size_t>(element_count(tensor.shape));
  for (size_t i = 0; i < count; ++i) {
    uint16_t bits;
    std::memcpy(&bits, tensor.data.get() + i * sizeof(bits), sizeof(bits));
    if ((bits & exponent) == exponent && (bits & 0x7fff & ~exponent) != 0) return i;
  }
  return std::nullopt;
}

template <typename T>
std::optional<size_t> first_nan_of(const Tensor& tensor) {
  const auto count = static_cast<size_t>(element_count(tensor.shape));
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, tensor.data.get() + i * sizeof(value), sizeof(value));  // the bytes may be unaligned
    if (std::isnan(value)) return i;
  }
  return std::nullopt;
}

std::optional<size_t> first_nan(const Tensor& tensor) {
  switch (tensor.type) {
    case DataType::f32:
      return first_nan_of<float>(tensor);
    case DataType::f64:
      return first_nan_of<double>(tensor);
    case DataType::f16:
      return first_nan16(tensor, 0x7c00);
    case DataType::bf16:
      return first_nan16(tensor, 0x7f80);
    default:
      return std::nullopt;
  }
}

}  // namespace

void check_scaling(const Graph& graph) {
  const std::set<ValueId> packed = packed_values(graph);
  for (const Node& node : graph.nodes) {
    if (!node.domain.empty() || (node.op != "QuantizeLinear" && node.op != "DequantizeLinear")) continue;
    const NodeReader at{"", graph, node};
    check_types(at, packed);
    check_scale(at);
    check_zero_point(at);
  }
}

void check_constants(const Graph& graph) {
  for (const auto& [id, tensor] : graph.constants) {
    if (tensor.data == nullptr) continue;
    if (const auto position = first_nan(tensor)) {
      throw Error(ErrorKind::input, fmt::format("constant '{}' holds NaN at position {}: the network can answer nothing but NaN",
                                                graph.values[static_cast<size_t>(id)].name, *position));
    }
  }
}

}  // namespace deepgap
