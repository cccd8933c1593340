#include "engine/passes/edit.h"
#include "engine/passes/quantization.h"
#include "model/graph_tools.h"

#include <deepgap/error.h>

#include <fmt/core.h>

#include <cmath>

namespace deepgap {
namespace {

struct Check {
  const Graph& graph;
  const Node& node;

  const Value& value(ValueId id) const { return graph.values[static_cast<size_t>(id)]; }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::input, fmt::format("native: node '{}' ({}): {}", node.name, node.op, what));
  }

  void scales(const std::vector<double>& numbers) const {
    for (double number : numbers) {
      if (!std::isfinite(number)) fail(fmt::format("its scale {} is no finite number", number));
      if (!(number > 0)) fail(fmt::format("its scale {} is not above zero", number));
      if (!std::isnormal(static_cast<float>(number))) fail(fmt::format("its scale {:g} is denormal", number));
    }
  }

  void axis(const Shape& scale_shape) const {
    const auto count = element_count(scale_shape);
    const auto& dims = value(node.inputs[0]).dims;
    if (count == 1 || !dims) return;
    const auto rank = static_cast<int64_t>(dims->size());
    const int64_t given = attribute_int(node, "axis", 1), axis = given < 0 ? given + rank : given;
    if (axis < 0 || axis >= rank) fail(fmt::format("axis {} is outside of an input of {} dimensions", given, rank));
    const Dim& size = (*dims)[static_cast<size_t>(axis)];
    if (scale_shape.size() != 1) fail("its scale is neither one number nor one per slice of the axis");
    if (size.known() && size.size != count) fail(fmt::format("it has {} scales for an axis of {}", count, size.size));
  }

  void types() const {
    const DataType numbers = value(is_quantize(node) ? node.inputs[0] : node.outputs[0]).type;
    const DataType integers = value(is_quantize(node) ? node.outputs[0] : node.inputs[0]).type;
    if (value(node.inputs[1]).type != DataType::f32)
      throw Error(ErrorKind::refused, fmt::format("native: node '{}' ({}): a scale of {} is not handled here", node.name, node.op,
                                                  name_of(value(node.inputs[1]).type)));
    if (numbers != DataType::f32)
      throw Error(ErrorKind::refused,
                  fmt::format("native: node '{}' ({}): numbers of {} are not handled here", node.name, node.op, name_of(numbers)));
    if (integers == DataType::f32) fail("its quantized side is float32");
    if (node.inputs.size() > 2 && node.inputs[2] != no_value && value(node.inputs[2]).type != integers)
      fail(fmt::format("its zero point is {}, its quantized values are {}", name_of(value(node.inputs[2]).type), name_of(integers)));
  }

  void zero_point(const Shape& scale_shape) const {
    const Tensor* zero = node.inputs.size() > 2 && node.inputs[2] != no_value ? constant_of(graph, node.inputs[2]) : nullptr;
    if (zero == nullptr) return;
    const auto count = element_count(zero->shape);
    if (count != element_count(scale_shape)) fail(fmt::format("it has {} zero points for {} scales", count, element_count(scale_shape)));
    if (zero->type != DataType::i32) return;
    for (int32_t number : zero->as<int32_t>())
      if (number != 0) fail(fmt::format("a zero point of {} does not go with int32 values, only 0", number));
  }

  void all() const {
    if (attribute_int(node, "block_size", 0) != 0)
      throw Error(ErrorKind::refused, fmt::format("native: node '{}' ({}): scales of blocks are not handled here", node.name, node.op));
    if (node.inputs.size() < 2 || node.inputs[0] == no_value || node.inputs[1] == no_value) fail("it has no scale");
    types();
    const Tensor* scale = constant_of(graph, node.inputs[1]);
    if (scale == nullptr) return;  // computed by the network
    if (element_count(scale->shape) == 0) fail("its scale is empty");
    scales(constant_values(graph, node.inputs[1]));
    axis(scale->shape);
    zero_point(scale->shape);
  }
};

}  // namespace

void check_quantization(const Graph& graph) {
  for (const auto& node : graph.nodes)
    if (is_quantize(node) || is_dequantize(node)) Check{graph, node}.all();
}

}  // namespace deepgap
