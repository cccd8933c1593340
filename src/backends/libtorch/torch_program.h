// A Graph as PyTorch's eager mode runs it: one call of ATen for each node, in the Graph's order, nothing fused. Weights are made once and
// shared by all batch sizes; attributes and shape arithmetic are read once for each of them.
// With a target that trains, the weights are leaves that gradients are asked for, nothing is computed from them beforehand, and run()
// leaves what the backward pass needs. One thread at a time.
#pragma once

#include "backends/libtorch/torch_network.h"
#include "backends/libtorch/torch_operator.h"

#include <deepgap/graph.h>

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace deepgap {

// A constant that training changes.
struct TorchWeight {
  std::string name;
  at::Tensor tensor;
  bool has_gradient = true;  // else a running statistic of BatchNormalization, which its forward pass writes
};

class TorchProgram final : public TorchNetwork {
 public:
  // The Graph outlives the program.
  TorchProgram(const Graph& graph, const TorchTarget& target);
  ~TorchProgram() override;

  void prepare(int64_t batch) override;  // throws Error{refused} naming operator and node
  std::vector<at::Tensor> run(int64_t batch, std::span<const at::Tensor> inputs, const Around* around) override;
  // Returns the weights of a target that trains, as its forward pass first takes them; call it once a batch size is prepared.
  const std::vector<TorchWeight>& weights() const { return weights_; }

 private:
  struct Plan;
  std::vector<at::Tensor> run(Plan& plan, std::span<const at::Tensor> inputs, const Around* around);
  at::Tensor constant_of_target(const Tensor& constant, bool is_weight);
  void fold(Graph& graph) const;
  void note_weight(const Plan& plan, const Node& node, size_t input);
  void add_step(Plan& plan, const Node& node);

  const Graph& graph_;
  TorchTarget target_;
  std::map<int64_t, std::unique_ptr<Plan>> plans_;
  std::set<ValueId> trained_;         // values of graph_; empty unless the target trains
  std::vector<TorchWeight> weights_;  // likewise
  // The key is where the bytes lie, since plans share the Graph's constants.
  std::map<std::tuple<const std::byte*, DataType, Shape, bool>, at::Tensor> constants_;
};

}  // namespace deepgap
