#include "quantize/unit_probe.h"

#include "engine/passes/edit.h"
#include "model/graph_tools.h"

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

constexpr double equal_db = 300;

double ratio_db(double signal, double noise) {
  if (noise == 0) return equal_db;
  if (signal == 0) return -equal_db;
  return std::clamp(10 * std::log10(signal / noise), -equal_db, equal_db);
}

Tensor through_levels(const Tensor& tensor, const ActivationScale& scale) {
  Tensor result = make_tensor(DataType::f32, tensor.shape);
  const auto from = tensor.as<float>();
  const auto to = writable<float>(result);
  for (size_t i = 0; i < from.size(); ++i) to[i] = through_levels(from[i], scale);
  return result;
}

Tensor real_weights(const QuantizedWeights& weights, int64_t axis) {
  Tensor result = make_tensor(DataType::f32, weights.levels.shape);
  const std::span<const int64_t> inner = std::span(weights.levels.shape).subspan(static_cast<size_t>(axis) + 1);
  const auto run = static_cast<size_t>(element_count(inner));
  const auto levels = weights.levels.as<int8_t>();
  const auto to = writable<float>(result);
  for (size_t i = 0; i < levels.size(); ++i) to[i] = static_cast<float>(levels[i]) * weights.scales[i / run % weights.scales.size()];
  return result;
}

Tensor real_bias(const QuantizedWeights& weights, float input_scale) {
  Tensor result = make_tensor(DataType::f32, weights.bias.shape);
  const auto to = writable<float>(result);
  for (size_t c = 0; c < to.size(); ++c) to[c] = static_cast<float>(weights.bias.as<int32_t>()[c]) * (input_scale * weights.scales[c]);
  return result;
}

}  // namespace

UnitProbe::UnitProbe(const Graph& prepared, std::span<const Unit> units, const ActivationScales& scales)
    : units_(units.begin(), units.end()), scales_(scales), worst_db_(units.size(), equal_db) {
  graph_.name = prepared.name;
  graph_.opset = prepared.opset;
  for (const Unit& unit : units_) add_unit(prepared, unit);
  infer_shapes(graph_);
  validate(graph_);
  graph_ = bind_symbols(graph_, {{batch_symbol, 1}});
}

ValueId UnitProbe::import(const Graph& prepared, ValueId id) {
  if (id == no_value) return no_value;
  const auto [found, is_new] = imported_.emplace(id, static_cast<ValueId>(graph_.values.size()));
  if (!is_new) return found->second;
  graph_.values.push_back(prepared.values[static_cast<size_t>(id)]);
  if (const Tensor* constant = constant_of(prepared, id)) {
    graph_.constants.emplace(found->second, *constant);
  } else {
    graph_.inputs.push_back(found->second);
    inputs_.push_back(id);
  }
  return found->second;
}

void UnitProbe::add_unit(const Graph& prepared, const Unit& unit) {
  Node node = prepared.nodes[unit.node];
  if (unit.kind == Unit::Kind::weighted) {
    const float input_scale = scales_.at(unit.data[0]).scale;
    const int64_t axis = channel_axis(prepared, node);
    const bool has_bias = node.inputs.size() > 2 && node.inputs[2] != no_value;
    const Tensor* bias = has_bias ? constant_of(prepared, node.inputs[2]) : nullptr;
    const QuantizedWeights weights = quantize_weights(*constant_of(prepared, node.inputs[1]), bias, axis, input_scale, node.name);
    node.inputs[0] = import(prepared, node.inputs[0]);
    node.inputs[1] = add_constant(graph_, node.name + ".probe_weights", real_weights(weights, axis));
    if (has_bias) node.inputs[2] = add_constant(graph_, node.name + ".probe_bias", real_bias(weights, input_scale));
  } else {
    for (ValueId& id : node.inputs) id = import(prepared, id);
  }
  // A value of its own: other units read the reference's of that name as an input.
  const auto result = [&](const std::string& stem) {
    graph_.values.push_back({stem + ".probe", DataType::f32, prepared.values[static_cast<size_t>(unit.output)].dims});
    return static_cast<ValueId>(graph_.values.size()) - 1;
  };
  const ValueId first = result(node.name);
  node.outputs = {first};
  graph_.nodes.push_back(std::move(node));
  graph_.outputs.push_back(first);
  if (!unit.activation) return;
  Node activation = prepared.nodes[*unit.activation];
  activation.inputs[0] = first;
  for (size_t i = 1; i < activation.inputs.size(); ++i) activation.inputs[i] = import(prepared, activation.inputs[i]);
  activation.outputs = {result(activation.name)};
  graph_.outputs.back() = activation.outputs[0];
  graph_.nodes.push_back(std::move(activation));
}

std::vector<Tensor> UnitProbe::inputs(const Activations& reference) const {
  std::vector<Tensor> tensors;
  for (const ValueId id : inputs_) tensors.push_back(through_levels(reference.at(id), scales_.at(id)));
  return tensors;
}

void UnitProbe::compare(const Activations& reference, std::span<const TensorView> outputs) {
  for (size_t u = 0; u < units_.size(); ++u) {
    const auto want = reference.at(units_[u].output).as<float>();
    const auto got = outputs[u].as<float>();
    const auto scale = scales_.find(units_[u].output);
    const bool rounded = units_[u].quantize_output && scale != scales_.end();
    double signal = 0, noise = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      const float value = rounded ? through_levels(got[i], scale->second) : got[i];
      const double difference = double{value} - want[i];
      signal += double{want[i]} * want[i];
      noise += difference * difference;
    }
    worst_db_[u] = std::min(worst_db_[u], ratio_db(signal, noise));
  }
}

}  // namespace deepgap
