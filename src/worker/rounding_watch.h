// Says whether the outputs of a network of 16-bit floats depend on where an engine rounds. Its reference is computed without rounding
// (model/widened_graph.h); where a number overflows its type, or rounding after each operator alone misses the tolerance, an engine that
// computes as the file says differs from it and is not wrong.
#pragma once

#include <deepgap/graph.h>
#include <deepgap/model.h>

#include <map>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

class RoundingWatch {
 public:
  explicit RoundingWatch(const Graph& graph);
  // A value of the widened network.
  void see(ValueId id, const Tensor& value);
  // Why, as the end of "no reference: ..., so that outputs depend on where an engine rounds to 16 bits". Computes the network as it is with
  // `queries`, whose unrounded `outputs` are given, unless an overflow was seen. "": they do not.
  std::string why(const Model& model, std::span<const std::vector<TensorView>> queries, const std::vector<std::vector<Tensor>>& outputs);

 private:
  std::string maker_of(ValueId id) const;

  const Graph& graph_;
  std::map<ValueId, const Node*> squaring_;  // nodes that square this value in its own type, and keep only what follows
  std::string first_;
};

}  // namespace deepgap
