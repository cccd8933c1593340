// How large each unit's own error is: the unit in levels against the unit in FP32, both reading the reference's values. Errors of earlier
// units do not reach it, so a deep network whose end is chaotic still shows which of its nodes are hard to quantize.
//
// All units stand side by side in one Graph that reads the reference's activations as inputs, already rounded to levels, and computes in
// FP32 with weights that went through levels too: integers up to 2^24 are exact there, so this is what INT8 kernels compute, and any FP32
// engine can run it.
#pragma once

#include "quantize/insert_qdq.h"

#include <deepgap/graph.h>

#include <map>
#include <span>
#include <vector>

namespace deepgap {

using Activations = std::map<ValueId, Tensor>;  // activations for one sample, by the prepared Graph's values

class UnitProbe {
 public:
  UnitProbe(const Graph& prepared, std::span<const Unit> units, const ActivationScales& scales);

  const Graph& graph() const { return graph_; }  // batch 1
  // For graph(), in its inputs' order.
  std::vector<Tensor> inputs(const Activations& reference) const;
  // Outputs of graph() for those inputs.
  void compare(const Activations& reference, std::span<const TensorView> outputs);
  // 10 log10(sum ref^2 / sum err^2) of the sample on which it is lowest; 300 when all are equal.
  double sqnr_db(size_t unit) const { return worst_db_[unit]; }

 private:
  ValueId import(const Graph& prepared, ValueId id);
  void add_unit(const Graph& prepared, const Unit& unit);

  Graph graph_;
  std::vector<Unit> units_;
  ActivationScales scales_;
  std::vector<ValueId> inputs_;          // ids of the prepared Graph
  std::map<ValueId, ValueId> imported_;  // prepared -> graph_
  std::vector<double> worst_db_;
};

}  // namespace deepgap
