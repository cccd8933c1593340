// Writes scales into a Graph: QuantizeLinear and DequantizeLinear around what is to be computed in INT8 ("QDQ"), as ONNX Runtime,
// OpenVINO, TensorRT and the native engine read it. docs/reference/files.md describes the form.
#pragma once

#include "quantize/scales.h"
#include "quantize/units.h"

#include <map>
#include <span>

namespace deepgap {

using ActivationScales = std::map<ValueId, ActivationScale>;

// Activations that need a scale: every unit's data, and its output where quantize_output says so.
std::vector<ValueId> scaled_values(std::span<const Unit> units);
// Merges the ranges of values that must share a scale since a passing unit only moves them.
std::map<ValueId, Range> shared_ranges(std::span<const Unit> units, std::map<ValueId, Range> ranges);

// `graph` is prepared, `scales` has one for each of scaled_values(units). Values keep their names, weights and biases become integers.
Graph insert_qdq(const Graph& graph, std::span<const Unit> units, const ActivationScales& scales);

}  // namespace deepgap
