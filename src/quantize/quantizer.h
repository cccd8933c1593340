// Quantizer: from an FP32 Graph and calibration samples to a QDQ Graph. It knows no engine: whoever calls it runs the Graphs that it asks
// them. Call the functions in the order in which they stand here; docs/reference/files.md describes the method.
#pragma once

#include "quantize/calibration_table.h"
#include "quantize/insert_qdq.h"
#include "quantize/settings.h"
#include "quantize/unit_probe.h"
#include "quantize/units.h"

#include <deepgap/graph.h>

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

// A node that stays in FP32, and why.
struct KeptNode {
  std::string name, op, reason;
};
struct NodeError {
  std::string name, op;
  double sqnr_db = 0;
};

struct QuantizedGraph {
  Graph graph;
  std::vector<KeptNode> kept;   // weighted and glue nodes only: what passes values on follows its neighbours
  int64_t quantized_nodes = 0;  // how many of those that could be
  double int8_mac_share = 0;
};

class Quantizer {
 public:
  // Throws Error{input} as prepare_for_quantizing does, Error{usage} for names in keep that no node has. Errors name the model
  // `name`; empty: as the Graph does.
  Quantizer(const Graph& graph, QuantizeSettings settings, const std::string& name = "");

  // The prepared network with every activation that may need a scale as an output, in the order of observed(): what calibration runs.
  Graph observing_graph() const;
  const std::vector<ValueId>& observed() const { return observed_; }
  const Graph& prepared() const { return prepared_; }

  // One calibration sample: its inputs and the outputs of observing_graph(), both with batch dimension 1. Throws Error{input} naming
  // `sample` and the value where one is not finite.
  void observe(const std::string& sample, std::span<const TensorView> inputs, std::span<const TensorView> outputs);
  // Ranges of what was observed, by the method of the settings; or instead of observing, those of a table.
  std::map<std::string, Range> ranges() const;
  // Throws Error{input} naming a value that the ranges lack.
  void use_ranges(const std::map<std::string, Range>& ranges);

  // The samples whose activations judge the nodes: few are enough, since each brings thousands of values a node.
  static constexpr size_t judging_samples = 4;
  bool judges() const { return settings_.keep == "auto"; }
  // Returns what observing_graph() answered to one sample, for probe().
  Activations activations(std::span<const TensorView> inputs, std::span<const TensorView> outputs) const;
  UnitProbe probe() const;
  // Nodes below min_sqnr_db stay in FP32 from now on. Returns all nodes' errors.
  std::vector<NodeError> judge(const UnitProbe& probe);

  // For whoever judges by outputs: the nodes in INT8 that may stay in FP32, by their places in prepared(); the network with one of them
  // alone in INT8, nothing where it is not quantized without its neighbours; to keep one in FP32 for a reason, and to take that back.
  std::vector<size_t> quantized() const;
  std::optional<Graph> only(size_t node) const;
  void keep(size_t node, const std::string& reason);
  void release(size_t node);

  QuantizedGraph quantize() const;

 private:
  std::vector<Unit> units() const { return units_to_quantize(prepared_, units_, kept_); }
  ActivationScales scales_for(std::span<const Unit> units) const;
  size_t input_place(ValueId id) const;
  const std::string& name_of_value(ValueId id) const { return prepared_.values[static_cast<size_t>(id)].name; }

  QuantizeSettings settings_;
  Graph prepared_;
  std::vector<Unit> units_;
  std::vector<bool> kept_;  // by node
  std::map<size_t, std::string> reasons_;
  std::vector<ValueId> observed_inputs_, observed_;
  std::map<ValueId, RangeCollector> collectors_;
  std::map<ValueId, Range> ranges_;
};

}  // namespace deepgap
