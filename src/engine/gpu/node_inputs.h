// Reads settings of a node that older opsets keep as attributes and newer ones as constant inputs.
#pragma once

#include "engine/gpu/lowering.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace deepgap::gpu {

// Reads a node as the evaluator's `Call` does (model/reduced_axes.h).
class NodeInputs {
 public:
  NodeInputs(const Lowering& lowering, const Node& node) : lowering_(lowering), node_(node) {}
  bool has(size_t index) const { return index < node_.inputs.size() && node_.inputs[index] != no_value; }
  // Returns the whole numbers of a constant input; nullopt if it is left out or not a constant.
  std::optional<std::vector<int64_t>> integers(size_t index) const;
  std::optional<float> number(size_t index) const;  // a constant of one element
  bool is_open(size_t index) const;                 // there, and no constant
  int64_t int_of(std::string_view name, int64_t fallback) const;
  std::vector<int64_t> ints_or_input(std::string_view attribute, size_t index, const std::vector<int64_t>& fallback) const;
  int64_t axis(int64_t axis, size_t rank) const { return axis < 0 ? axis + static_cast<int64_t>(rank) : axis; }

 private:
  const Lowering& lowering_;
  const Node& node_;
};

}  // namespace deepgap::gpu
