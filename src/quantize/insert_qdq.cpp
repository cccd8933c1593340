#include "quantize/insert_qdq.h"

#include "engine/passes/edit.h"
#include "engine/passes/passes.h"
#include "model/graph_tools.h"

#include <algorithm>
#include <set>

namespace deepgap {
namespace {

Tensor scalar_of(float value) {
  Tensor tensor = make_tensor(DataType::f32, {});
  writable<float>(tensor)[0] = value;
  return tensor;
}

Tensor zero_point_of(const ActivationScale& scale) {
  Tensor tensor = make_tensor(scale.type, {});
  writable<uint8_t>(tensor)[0] = static_cast<uint8_t>(scale.zero_point);
  return tensor;
}

Tensor zeros(DataType type, int64_t count) {
  Tensor tensor = make_tensor(type, {count});
  std::fill_n(writable<std::byte>(tensor).data(), tensor.bytes(), std::byte{0});
  return tensor;
}

Tensor vector_of(const std::vector<float>& values) {
  Tensor tensor = make_tensor(DataType::f32, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), writable<float>(tensor).begin());
  return tensor;
}

class Insertion {
 public:
  Insertion(const Graph& graph, std::span<const Unit> units, const ActivationScales& scales)
      : source_(graph), result_(graph), scales_(scales) {
    result_.nodes.clear();
    for (const Value& value : graph.values) names_.insert(value.name);
    for (const Unit& unit : units) {
      main_.emplace(unit.node, &unit);
      if (unit.quantize_output) made_.insert(unit.output);
    }
  }

  Graph run() {
    for (const ValueId id : source_.inputs) {
      if (scales_.contains(id)) quantize(id, id);
    }
    for (size_t i = 0; i < source_.nodes.size(); ++i) {
      Node node = source_.nodes[i];
      const auto unit = main_.find(i);
      rewire(node, unit == main_.end() ? nullptr : unit->second);
      std::vector<ValueId> raw = node.outputs;
      for (ValueId& id : node.outputs) {
        // A result that leaves the network keeps its name behind the pair.
        if (id != no_value && made_.contains(id) && is_graph_output(source_, id)) id = like(id, name_of_value(id) + "_unquantized");
      }
      const std::vector<ValueId> written = node.outputs;
      result_.nodes.push_back(std::move(node));
      for (size_t k = 0; k < raw.size(); ++k) {
        if (raw[k] != no_value && scales_.contains(raw[k])) quantize(raw[k], written[k]);
      }
    }
    remove_dead(result_);
    infer_shapes(result_);
    validate(result_);
    return std::move(result_);
  }

 private:
  const std::string& name_of_value(ValueId id) const { return source_.values[static_cast<size_t>(id)].name; }

  std::string unused(const std::string& stem) {
    std::string name = stem;
    for (int i = 1; !names_.insert(name).second; ++i) name = stem + "." + std::to_string(i);
    return name;
  }
  ValueId new_value(const std::string& stem, DataType type, std::optional<Dims> dims) {
    result_.values.push_back({unused(stem), type, std::move(dims)});
    return static_cast<ValueId>(result_.values.size()) - 1;
  }
  ValueId like(ValueId id, const std::string& stem) { return new_value(stem, DataType::f32, source_.values[static_cast<size_t>(id)].dims); }
  ValueId constant(const std::string& stem, Tensor tensor) {
    Dims dims;
    for (const int64_t size : tensor.shape) dims.push_back({size, ""});
    const ValueId id = new_value(stem, tensor.type, dims);
    result_.constants.emplace(id, std::move(tensor));
    return id;
  }

  // The pair behind `from`, which is what the source calls `value`.
  void quantize(ValueId value, ValueId from) {
    const ActivationScale& scale = scales_.at(value);
    const std::string& name = name_of_value(value);
    const ValueId factor = constant(name + "_scale", scalar_of(scale.scale));
    const ValueId zero = constant(name + "_zero_point", zero_point_of(scale));
    const auto dims = source_.values[static_cast<size_t>(value)].dims;
    const ValueId levels = new_value(name + "_quantized", scale.type, dims);
    const ValueId back = from == value ? new_value(name + "_dequantized", DataType::f32, dims) : value;
    result_.nodes.push_back({name + "_QuantizeLinear", "QuantizeLinear", "", {from, factor, zero}, {levels}, {}});
    result_.nodes.push_back({name + "_DequantizeLinear", "DequantizeLinear", "", {levels, factor, zero}, {back}, {}});
    dequantized_[value] = back;
  }

  ValueId integers(const std::string& stem, Tensor levels, ValueId scale, Tensor zero_points, int64_t axis) {
    const Dims dims = [&] {
      Dims sizes;
      for (const int64_t size : levels.shape) sizes.push_back({size, ""});
      return sizes;
    }();
    const ValueId from = constant(stem + "_quantized", std::move(levels));
    const ValueId zero = constant(stem + "_zero_point", std::move(zero_points));
    const ValueId back = new_value(stem + "_dequantized", DataType::f32, dims);
    result_.nodes.push_back({stem + "_DequantizeLinear", "DequantizeLinear", "", {from, scale, zero}, {back}, {{"axis", axis}}});
    return back;
  }

  void quantize_weights_of(Node& node, const Unit& unit) {
    const float input_scale = scales_.at(unit.data[0]).scale;
    const int64_t axis = channel_axis(source_, node);
    const bool has_bias = node.inputs.size() > 2 && node.inputs[2] != no_value;
    const Tensor* bias = has_bias ? constant_of(source_, node.inputs[2]) : nullptr;
    QuantizedWeights weights = quantize_weights(*constant_of(source_, node.inputs[1]), bias, axis, input_scale, node.name);
    const auto channels = static_cast<int64_t>(weights.scales.size());
    const std::string stem = node.name + "_weights";
    const ValueId scale = constant(stem + "_scale", vector_of(weights.scales));
    node.inputs[1] = integers(stem, std::move(weights.levels), scale, zeros(DataType::i8, channels), axis);
    if (!has_bias) return;
    std::vector<float> products = weights.scales;
    for (float& product : products) product *= input_scale;
    const ValueId bias_scale = constant(node.name + "_bias_scale", vector_of(products));
    node.inputs[2] = integers(node.name + "_bias", std::move(weights.bias), bias_scale, zeros(DataType::i32, channels), 0);
  }

  // Everybody reads a quantized unit's result behind the pair, or the engine would have to keep the FP32 result as well. Anything else is
  // read behind the pair by quantized units only.
  void rewire(Node& node, const Unit* unit) {
    if (unit != nullptr && unit->kind == Unit::Kind::weighted) quantize_weights_of(node, *unit);
    for (ValueId& id : node.inputs) {
      const auto found = id == no_value ? dequantized_.end() : dequantized_.find(id);
      if (found == dequantized_.end()) continue;
      const bool mine = unit != nullptr && std::find(unit->data.begin(), unit->data.end(), id) != unit->data.end();
      if (mine || made_.contains(id)) id = found->second;
    }
  }

  const Graph& source_;
  Graph result_;
  const ActivationScales& scales_;
  std::set<std::string> names_;
  std::map<size_t, const Unit*> main_;
  std::set<ValueId> made_;  // outputs of quantized units
  std::map<ValueId, ValueId> dequantized_;
};

}  // namespace

std::vector<ValueId> scaled_values(std::span<const Unit> units) {
  std::set<ValueId> values;
  for (const Unit& unit : units) {
    values.insert(unit.data.begin(), unit.data.end());
    if (unit.quantize_output) values.insert(unit.output);
  }
  return {values.begin(), values.end()};
}

std::map<ValueId, Range> shared_ranges(std::span<const Unit> units, std::map<ValueId, Range> ranges) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Unit& unit : units) {
      if (unit.kind != Unit::Kind::passing) continue;
      Range all = ranges.at(unit.output);
      for (const ValueId id : unit.data) all = {std::min(all.low, ranges.at(id).low), std::max(all.high, ranges.at(id).high)};
      const auto widen = [&](ValueId id) {
        changed = changed || !(ranges.at(id) == all);
        ranges.at(id) = all;
      };
      widen(unit.output);
      std::for_each(unit.data.begin(), unit.data.end(), widen);
    }
  }
  return ranges;
}

Graph insert_qdq(const Graph& graph, std::span<const Unit> units, const ActivationScales& scales) {
  return Insertion(graph, units, scales).run();
}

}  // namespace deepgap
