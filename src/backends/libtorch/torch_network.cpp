#include "backends/libtorch/torch_network.h"

#include "backends/common/precision_tally.h"
#include "backends/libtorch/torch_failure.h"
#include "backends/libtorch/torch_package.h"
#include "backends/libtorch/torch_program.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

std::string precision_name(at::ScalarType type, const std::string& float32_name) {
  if (type == at::kBFloat16) return "bf16";
  if (type == at::kHalf) return "fp16";
  return type == at::kFloat ? float32_name : std::string(c10::toString(type));
}

}  // namespace

std::unique_ptr<TorchNetwork> make_torch_network(const Graph& graph, const TorchTarget& target, const std::string& package) {
  if (!package.empty()) return open_torch_package(package, graph, target);
  return std::make_unique<TorchProgram>(graph, target);
}

void require_torch_batch(int64_t batch, int64_t largest) {
  if (batch < 1 || batch > largest)
    throw Error(ErrorKind::input, fmt::format("libtorch: {} samples, loaded for at most {}", batch, largest));
}

PrecisionShares torch_precision_shares(TorchNetwork& network, const Model& model, int64_t batch, std::span<const at::Tensor> inputs,
                                       const std::string& float32_name) {
  PrecisionTally tally(model);
  const TorchNetwork::Around look = [&](const Node& node, const std::function<at::Tensor()>& work) {
    tally.computed(node.name, precision_name(work().scalar_type(), float32_name));
  };
  with_torch_errors("running the model", [&] { network.run(batch, inputs, &look); });
  return tally.shares();
}

}  // namespace deepgap
