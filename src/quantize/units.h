// Units: what an engine computes in INT8 as one step, and therefore what is quantized, kept and judged as one: an operator with the
// activation that follows it.
//
// The Graph is prepared first (BatchNormalization folded into the convolution before it, constants folded), so that a unit's values are
// those an engine really has. Ranges are observed behind the activation, since what it cuts off needs no level.
#pragma once

#include <deepgap/graph.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace deepgap {

struct Unit {
  enum class Kind {
    weighted,  // Conv, Gemm, MatMul with constant weights
    glue,      // Add, AveragePool, GlobalAveragePool: a range of its own at the output
    passing,   // MaxPool, Concat, Flatten, Reshape, Transpose, Squeeze, Unsqueeze: the same numbers, so the same scale on both sides
  };
  Kind kind = Kind::weighted;
  size_t node = 0;                   // the operator; its name is the unit's
  std::optional<size_t> activation;  // Relu or Clip that alone reads it
  std::vector<ValueId> data;         // what is quantized on the way in
  ValueId output = no_value;         // behind the activation
  bool quantize_output = true;       // false: Gemm and MatMul answer in FP32 where no unit reads them
};

// The passes that need no engine; opset 13 or later. Throws Error{input} for a Graph that holds quantized operators already, and where
// the opset cannot be raised to 13, which per-channel scales need; they begin with `name`, that of the model.
Graph prepare_for_quantizing(const Graph& graph, const std::string& name);

// Units of a prepared Graph in its order. Weights that are shared with something else do not matter.
std::vector<Unit> find_units(const Graph& graph);

// Returns the units that are quantized when the nodes in `kept` (indices) stay in FP32: glue and passing units only where at least one
// input comes out of a quantized unit, since they would win nothing alone.
std::vector<Unit> units_to_quantize(const Graph& graph, const std::vector<Unit>& all, const std::vector<bool>& kept);

// Axis of the output channels of a weighted unit's weights.
int64_t channel_axis(const Graph& graph, const Node& node);

// Share of the multiply-accumulates of one item that `units` do.
double mac_share(const Graph& graph, const std::vector<Unit>& units);

}  // namespace deepgap
