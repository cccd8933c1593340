#include "backends/libtorch/cpu/cpu_session.h"

#include "backends/common/query_thread.h"
#include "backends/common/staging.h"
#include "backends/libtorch/cpu/gathered_inputs.h"
#include "backends/libtorch/torch_failure.h"
#include "backends/libtorch/torch_network.h"
#include "backends/libtorch/torch_outputs.h"
#include "backends/libtorch/torch_types.h"

#include <ATen/Parallel.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <array>
#include <optional>

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

struct Slot {
  std::vector<SlotBuffer> inputs;
  std::unique_ptr<TorchOutputs> outputs;
  // The query in flight.
  std::vector<uint32_t> samples;
  uint64_t tag = 0;
  Nanoseconds enqueued = 0;
};

class TorchCpuSession final : public Session {
 public:
  TorchCpuSession(const Model& model, const LoadOptions& options, const TorchSettings& settings)
      : clock_(*options.clock),
        completion_(options.completion),
        threads_(options.threads),
        model_(model),
        inputs_(ports(model.graph(), model.graph().inputs)),
        staging_("libtorch", inputs_),
        network_(make_torch_network(model.graph(), target_of(options.precision, settings), settings.package)),
        slots_(static_cast<size_t>(options.slots)) {
    const c10::InferenceMode inference;
    for (const int64_t batch : options.batch_sizes) {
      largest_ = std::max(largest_, batch);
      input_shapes("libtorch", model.name(), inputs_, batch);
      network_->prepare(batch);
    }
    for (Slot& slot : slots_) {
      slot.inputs = room_for(inputs_, largest_);
      slot.outputs = std::make_unique<TorchOutputs>(model.graph(), largest_, false);
    }
    thread_.emplace([threads = options.threads] { at::set_num_threads(threads); }, [this](size_t slot) { answer(slots_[slot]); },
                    [this](size_t slot) { deliver({.tag = slots_[slot].tag, .status = Status::cancelled}); });
  }

  int slots() const override { return static_cast<int>(slots_.size()); }
  void stage(std::span<const std::vector<TensorView>> inputs) override { staging_.stage(inputs); }
  std::span<const TensorView> outputs(int slot) const override { return slots_.at(static_cast<size_t>(slot)).outputs->views(); }

  void enqueue(int index, std::span<const uint32_t> samples, uint64_t tag) override {
    Slot& slot = slots_.at(static_cast<size_t>(index));
    slot.enqueued = clock_.now();
    slot.samples.assign(samples.begin(), samples.end());
    slot.tag = tag;
    thread_->enqueue(static_cast<size_t>(index));
  }
  void drain() override { thread_->drain(); }
  void cancel() override { thread_->cancel(); }

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
  void answer(Slot& slot) {
    std::array<Mark, 5> marks{{{MarkId::enqueued, 0, slot.enqueued}, {MarkId::h2d_begin, 0, clock_.now()}}};
    Done done{.tag = slot.tag};
    std::optional<Error> error;
    try {
      const c10::InferenceMode inference;
      const std::vector<at::Tensor> inputs = gathered(staging_, inputs_, slot.samples, largest_, slot.inputs);
      marks[2] = {MarkId::compute_begin, 0, clock_.now()};
      slot.outputs->take(network_->run(static_cast<int64_t>(slot.samples.size()), inputs, nullptr));
      marks[3] = {MarkId::compute_end, 0, clock_.now()};
      marks[4] = {MarkId::returned, 0, marks[3].ns};
      done.marks = marks;
    } catch (const std::exception& failure) {
      error = torch_error(failure, "running the model");
      done = {slot.tag, Status::failed, std::span(marks).first(1), &*error};
    }
    deliver(done);
  }

  // Another thread may use the slot again as soon as the completion was called.
  void deliver(const Done& done) { completion_(std::span(&done, 1)); }

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

  Clock& clock_;
  Completion completion_;
  int threads_;
  const Model& model_;
  std::vector<Port> inputs_;
  Staging staging_;
  int64_t largest_ = 0;  // batch
  std::unique_ptr<TorchNetwork> network_;
  std::vector<Slot> slots_;
  std::optional<QueryThread> thread_;  // goes first
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
