#include "engine/passes/edit.h"
#include "engine/passes/quantization.h"
#include "model/graph_tools.h"

#include <algorithm>

namespace deepgap {
namespace {

int32_t integer_at(const Tensor& tensor, size_t i) {
  return tensor.type == DataType::u8 ? int32_t{tensor.as<uint8_t>()[i]} : int32_t{tensor.as<int8_t>()[i]};
}

// nullopt where a value does not fit into int8 once its zero point is taken off.
std::optional<Tensor> centered(const Tensor& weights, const Quantization& quantization) {
  Tensor result = make_tensor(DataType::i8, weights.shape);
  const auto to = writable<int8_t>(result);
  size_t inner = 1;
  if (!quantization.per_tensor())
    inner = static_cast<size_t>(element_count(std::span<const int64_t>(weights.shape).subspan(quantization.axis + 1)));
  const size_t slices = quantization.zero_points.size();
  for (size_t i = 0; i < to.size(); ++i) {
    const int32_t value = integer_at(weights, i) - quantization.zero_points[i / inner % slices];
    if (value < -128 || value > 127) return std::nullopt;
    to[i] = static_cast<int8_t>(value);
  }
  return result;
}

}  // namespace

void center_weights(Graph& graph) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!is_dequantize(graph.nodes[i])) continue;
    const ValueId id = graph.nodes[i].inputs[0];
    const Tensor* weights = constant_of(graph, id);
    const auto quantization = weights == nullptr ? std::nullopt : quantization_of(graph, graph.nodes[i]);
    if (!quantization) continue;
    const bool zero = std::all_of(quantization->zero_points.begin(), quantization->zero_points.end(), [](int32_t z) { return z == 0; });
    if (zero && quantization->type == DataType::i8) continue;
    auto tensor = centered(*weights, *quantization);
    if (!tensor) continue;
    const ValueId constant = add_constant(graph, graph.values[static_cast<size_t>(id)].name + ".centered", std::move(*tensor));
    graph.nodes[i].inputs[0] = constant;
    graph.nodes[i].inputs.resize(2);  // no zero point: 0
  }
}

}  // namespace deepgap
