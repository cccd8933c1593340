// The network that a Session runs: the Graph through ATen (torch_program.h), or a package that PyTorch made of the network
// (torch_package.h). One thread at a time.
#pragma once

#include "backends/libtorch/torch_target.h"

#include <deepgap/model.h>
#include <deepgap/session.h>

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

class TorchNetwork {
 public:
  virtual ~TorchNetwork() = default;
  // Makes what a batch size needs, if it is not there. Throws Error{refused}.
  virtual void prepare(int64_t batch) = 0;
  // Called around each node's work, which gives the node's first result; to time it or to look at that.
  using Around = std::function<void(const Node& node, const std::function<at::Tensor()>& work)>;
  // `inputs` on the network's device, in the Graph's types and order; the results likewise, in the types that the network computes in.
  // A package has no nodes: `around` is not called.
  virtual std::vector<at::Tensor> run(int64_t batch, std::span<const at::Tensor> inputs, const Around* around) = 0;
};

// The package where one is named, else the Graph. Throws Error{refused}. The Graph outlives the network.
std::unique_ptr<TorchNetwork> make_torch_network(const Graph& graph, const TorchTarget& target, const std::string& package);

// Throws Error{input} for a batch that is empty or larger than what was loaded for.
void require_torch_batch(int64_t batch, int64_t largest);

// Returns the shares by what the products' results are; runs once. `float32_name` says what FP32 is ("fp32", "tf32").
PrecisionShares torch_precision_shares(TorchNetwork& network, const Model& model, int64_t batch, std::span<const at::Tensor> inputs,
                                       const std::string& float32_name);

}  // namespace deepgap
