#include "quantize/quantizer.h"

#include "base/text.h"
#include "model/graph_tools.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace deepgap {
namespace {

bool may_be_named(const Unit& unit) { return unit.kind != Unit::Kind::passing; }

}  // namespace

Quantizer::Quantizer(const Graph& graph, QuantizeSettings settings, const std::string& name)
    : settings_(std::move(settings)),
      prepared_(prepare_for_quantizing(graph, name.empty() ? graph.name : name)),
      units_(find_units(prepared_)) {
  kept_.assign(prepared_.nodes.size(), false);
  if (settings_.keep != "auto" && settings_.keep != "none") {
    std::map<std::string, size_t> nodes;
    std::vector<std::string> names;
    for (const Unit& unit : units_) {
      if (!may_be_named(unit)) continue;
      nodes.emplace(prepared_.nodes[unit.node].name, unit.node);
      names.push_back(prepared_.nodes[unit.node].name);
    }
    std::string list = settings_.keep;
    std::replace(list.begin(), list.end(), ';', ',');  // where a comma makes an axis
    for (const std::string& name : split(list, ',')) {
      const auto found = nodes.find(trim(name));
      if (found == nodes.end()) throw Error(ErrorKind::usage, unknown_name("node to keep", trim(name), names));
      kept_[found->second] = true;
      reasons_[found->second] = "named";
    }
  }
  std::vector<ValueId> values = scaled_values(units());
  for (const Unit& unit : units()) values.push_back(unit.output);  // what judges a node that answers in FP32
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  for (const ValueId id : values) {
    const bool is_input = std::find(prepared_.inputs.begin(), prepared_.inputs.end(), id) != prepared_.inputs.end();
    (is_input ? observed_inputs_ : observed_).push_back(id);
  }
}

Graph Quantizer::observing_graph() const {
  Graph graph = prepared_;
  graph.outputs = observed_;
  return graph;
}

void Quantizer::observe(const std::string& sample, std::span<const TensorView> inputs, std::span<const TensorView> outputs) {
  const auto add = [&](ValueId id, const TensorView& view) {
    if (collectors_.try_emplace(id, settings_.method != "minmax").first->second.add(view.as<float>())) return;
    throw Error(ErrorKind::input, fmt::format("calibration sample '{}': '{}' is not finite there; check the samples and the weights",
                                              sample, name_of_value(id)));
  };
  for (const ValueId id : observed_inputs_) add(id, inputs[input_place(id)]);
  for (size_t i = 0; i < observed_.size(); ++i) add(observed_[i], outputs[i]);
}

std::map<std::string, Range> Quantizer::ranges() const {
  std::map<std::string, Range> result;
  for (const auto& [id, collector] : collectors_) result[name_of_value(id)] = collector.range(settings_.method, settings_.percentile);
  return result;
}

void Quantizer::use_ranges(const std::map<std::string, Range>& ranges) {
  for (const auto* ids : {&observed_inputs_, &observed_}) {
    for (const ValueId id : *ids) {
      const auto found = ranges.find(name_of_value(id));
      if (found == ranges.end()) throw Error(ErrorKind::input, fmt::format("no range was calibrated for '{}'", name_of_value(id)));
      ranges_[id] = found->second;
    }
  }
}

size_t Quantizer::input_place(ValueId id) const {
  return static_cast<size_t>(std::find(prepared_.inputs.begin(), prepared_.inputs.end(), id) - prepared_.inputs.begin());
}

ActivationScales Quantizer::scales_for(std::span<const Unit> units) const {
  ActivationScales scales;
  const auto ranges = shared_ranges(units, ranges_);
  for (const ValueId id : scaled_values(units)) scales[id] = activation_scale(ranges.at(id), settings_.activations);
  return scales;
}

Activations Quantizer::activations(std::span<const TensorView> inputs, std::span<const TensorView> outputs) const {
  Activations result;
  const auto add = [&](ValueId id, const TensorView& view) {
    Tensor copy = make_tensor(view.type, Shape(view.shape.begin(), view.shape.end()));
    std::memcpy(writable<std::byte>(copy).data(), view.data, view.bytes());
    result.emplace(id, std::move(copy));
  };
  for (const ValueId id : observed_inputs_) add(id, inputs[input_place(id)]);
  for (size_t i = 0; i < observed_.size(); ++i) add(observed_[i], outputs[i]);
  return result;
}

UnitProbe Quantizer::probe() const {
  const std::vector<Unit> all = units();
  return {prepared_, all, scales_for(all)};
}

std::vector<NodeError> Quantizer::judge(const UnitProbe& probe) {
  std::vector<NodeError> errors;
  const std::vector<Unit> all = units();
  for (size_t u = 0; u < all.size(); ++u) {
    const Node& node = prepared_.nodes[all[u].node];
    errors.push_back({node.name, node.op, probe.sqnr_db(u)});
    const bool too_large = may_be_named(all[u]) && errors.back().sqnr_db < settings_.min_sqnr_db;
    if (too_large) keep(all[u].node, fmt::format("SQNR {:.1f} dB", errors.back().sqnr_db));
  }
  return errors;
}

std::vector<size_t> Quantizer::quantized() const {
  std::vector<size_t> nodes;
  for (const Unit& unit : units())
    if (may_be_named(unit)) nodes.push_back(unit.node);
  return nodes;
}

std::optional<Graph> Quantizer::only(size_t node) const {
  std::vector<bool> kept(prepared_.nodes.size(), true);
  kept[node] = false;
  const std::vector<Unit> alone = units_to_quantize(prepared_, units_, kept);
  const bool there = std::any_of(alone.begin(), alone.end(), [&](const Unit& unit) { return unit.node == node; });
  return there ? std::optional(insert_qdq(prepared_, alone, scales_for(alone))) : std::nullopt;
}

void Quantizer::keep(size_t node, const std::string& reason) {
  kept_[node] = true;
  reasons_[node] = reason;
}

void Quantizer::release(size_t node) {
  kept_[node] = false;
  reasons_.erase(node);
}

QuantizedGraph Quantizer::quantize() const {
  const std::vector<Unit> units = this->units();
  QuantizedGraph result;
  result.graph = insert_qdq(prepared_, units, scales_for(units));
  result.int8_mac_share = mac_share(prepared_, units);
  for (const Unit& unit : units_) {
    if (!may_be_named(unit)) continue;
    const auto same = [&](const Unit& other) { return other.node == unit.node; };
    if (std::any_of(units.begin(), units.end(), same)) {
      ++result.quantized_nodes;
      continue;
    }
    const Node& node = prepared_.nodes[unit.node];
    const auto reason = reasons_.find(unit.node);
    result.kept.push_back({node.name, node.op, reason == reasons_.end() ? "nothing before it is quantized" : reason->second});
  }
  return result;
}

}  // namespace deepgap
