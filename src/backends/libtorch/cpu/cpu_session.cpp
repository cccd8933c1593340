#include "backends/libtorch/cpu/cpu_session.h"

#include "backends/common/serial_session.h"
#include "backends/libtorch/cpu/gathered_inputs.h"
#include "backends/libtorch/torch_failure.h"
#include "backends/libtorch/torch_network.h"
#include "backends/libtorch/torch_outputs.h"
#include "backends/libtorch/torch_types.h"

#include <ATen/Parallel.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <deque>

namespace deepgap {
namespace {

TorchTarget target_of(Precision precision, const TorchSettings& settings) {
  TorchTarget target;
  target.channels_last = settings.channels_last;
  if (precision == Precision::bf16) target.floats = at::kBFloat16;
  if (precision == Precision::fp16) target.floats = at::kHalf;
  if (precision == Precision::mixed) target.autocast = at::kBFloat16;  // what PyTorch's autocast takes on a CPU
  return target;
}

class TorchCpuSession final : public SerialSession {
 public:
  TorchCpuSession(const Model& model, const LoadOptions& options, const TorchSettings& settings)
      : SerialSession("libtorch", model, options, ports(model.graph(), model.graph().inputs)),
        threads_(options.threads),
        model_(model),
        network_(make_torch_network(model.graph(), target_of(options.precision, settings), settings.package)) {
    const c10::InferenceMode inference;
    for (const int64_t batch : options.batch_sizes) network_->prepare(batch);
    for (int slot = 0; slot < options.slots; ++slot) outputs_.emplace_back(model.graph(), largest_, false);
    start([threads = options.threads] { at::set_num_threads(threads); });
  }
  ~TorchCpuSession() override { stop(); }

  std::span<const TensorView> outputs(int slot) const override { return outputs_.at(static_cast<size_t>(slot)).views(); }

  std::vector<LayerTiming> layer_timings() override {
    std::vector<LayerTiming> timings;
    const TorchNetwork::Around around = [&](const Node& node, const std::function<at::Tensor()>& work) {
      const Nanoseconds begin = clock_.now();
      work();
      timings.push_back({node.name, node.op, clock_.now() - begin});
    };
    const Apart apart(*this);
    with_torch_errors("running the model", [&] { network_->run(largest_, zeros(), &around); });
    return timings;
  }

  PrecisionShares precision_shares() override {
    const Apart apart(*this);
    return torch_precision_shares(*network_, model_, largest_, zeros(), "fp32");
  }

 private:
  size_t compute(size_t slot, Query& query, std::span<Mark> marks) override {
    const c10::InferenceMode inference;
    const std::vector<at::Tensor> inputs = gathered(staging_, inputs_, query.samples, query.inputs);
    marks[0] = {MarkId::compute_begin, 0, clock_.now()};
    outputs_[slot].take(network_->run(static_cast<int64_t>(query.samples.size()), inputs, nullptr));
    marks[1] = {MarkId::compute_end, 0, clock_.now()};
    marks[2] = {MarkId::returned, 0, marks[1].ns};
    return 3;
  }
  Error error_of(const std::exception& failure) const override { return torch_error(failure, "running the model"); }

  std::vector<at::Tensor> zeros() const {
    std::vector<at::Tensor> inputs;
    for (const Port& input : inputs_) inputs.push_back(at::zeros(*input.shape(largest_), at::TensorOptions(torch_type(input.type))));
    return inputs;
  }

  // The network is idle and this thread may run it.
  struct Apart {
    explicit Apart(TorchCpuSession& session) {
      session.drain();
      at::set_num_threads(session.threads_);
    }
    c10::InferenceMode inference;
  };

  int threads_;
  const Model& model_;
  std::unique_ptr<TorchNetwork> network_;
  std::deque<TorchOutputs> outputs_;  // by slot
};

}  // namespace

// Converting weights would make a team of this thread's own. libgomp counts its sleeping members against the CPUs for as long as the thread
// lives, finds more threads than CPUs, and lets the session's own team sleep after each operator instead of waiting for the next.
std::unique_ptr<Session> make_torch_cpu_session(const Model& model, const LoadOptions& options, const TorchSettings& settings) {
  at::set_num_threads(1);
  try {
    auto session = std::make_unique<TorchCpuSession>(model, options, settings);
    at::set_num_threads(options.threads);  // what threads begin with that were given no number
    return session;
  } catch (const std::exception& failure) {
    throw torch_error(failure, "loading the model");
  }
}

}  // namespace deepgap
