#include "backends/libtorch/cpu/cpu_train_session.h"

#include "backends/common/serial_session.h"
#include "backends/common/train_ports.h"
#include "backends/libtorch/cpu/gathered_inputs.h"
#include "backends/libtorch/cpu/shared_averager.h"
#include "backends/libtorch/torch_failure.h"
#include "backends/libtorch/train/step_clock.h"
#include "backends/libtorch/train/torch_trainer.h"

#include <ATen/Parallel.h>

#include <functional>
#include <optional>

namespace deepgap {
namespace {

TorchTarget target_of(Precision precision, const TorchSettings& settings) {
  TorchTarget target;
  target.trains = true;
  target.channels_last = settings.channels_last;
  if (precision != Precision::fp32) target.autocast = at::kBFloat16;  // bf16 and mixed are the same here
  return target;
}

struct Loss {
  float value = 0;
  Shape shape{1};
  TensorView view;
};

class TorchCpuTrainSession final : public SerialSession {
 public:
  TorchCpuTrainSession(const Model& model, const LoadOptions& options, const TorchSettings& settings)
      : SerialSession("libtorch", model, options, train_ports("libtorch", model.graph(), options.train)),
        losses_(static_cast<size_t>(options.slots)),
        trainer_(model, target_of(options.precision, settings), options.train) {
    for (const int64_t batch : options.batch_sizes) trainer_.prepare(batch);
    if (options.train.ranks > 1) {
      averager_.emplace(options.exchange, options.train.rank, options.train.ranks, trainer_.trained_numbers());
      trainer_.average_gradients(*averager_, settings.bucket_bytes());
      allreduce_alone_ = time_all_reduce(trainer_, clock_, [] {});
    }
    for (Loss& loss : losses_) loss.view = {DataType::f32, loss.shape, reinterpret_cast<const std::byte*>(&loss.value)};
    start([threads = options.threads] { at::set_num_threads(threads); });
  }
  ~TorchCpuTrainSession() override { stop(); }

  std::span<const TensorView> outputs(int slot) const override { return {&losses_.at(static_cast<size_t>(slot)).view, 1}; }

  void reset() override {
    apart([&] { trainer_.reset(); });
  }
  std::map<std::string, Tensor> trained_weights() override {
    std::map<std::string, Tensor> weights;
    apart([&] { weights = trainer_.copied_weights(); });
    return weights;
  }
  LoadParts load_parts() const override { return averager_ ? LoadParts{{allreduce_alone, allreduce_alone_}} : LoadParts{}; }
  MemoryKinds memory_kinds() override {
    MemoryKinds kinds;
    apart([&] {
      const std::vector<uint32_t> samples(static_cast<size_t>(largest_), 0);
      kinds = trainer_.memory_kinds(largest_, gathered(staging_, inputs_, samples, queries_.front().inputs));
    });
    return kinds;
  }

 private:
  size_t compute(size_t slot, Query& query, std::span<Mark> marks) override {
    StepClock parts([this] { return clock_.now(); });
    const std::vector<at::Tensor> inputs = gathered(staging_, inputs_, query.samples, query.inputs);
    parts.begin();
    const at::Tensor loss = trainer_.step(static_cast<int64_t>(query.samples.size()), inputs, [&](TrainPart part) { parts.ended(part); });
    losses_[slot].value = *loss.const_data_ptr<float>();
    parts.end();
    return parts.put(marks);
  }
  Error error_of(const std::exception& failure) const override { return torch_error(failure, "training the model"); }

  // Runs the work with the trainer's own thread and its team.
  void apart(const std::function<void()>& work) {
    with_torch_errors("training the model", [&] { run_on_thread(work); });
  }

  std::vector<Loss> losses_;                // by slot
  std::optional<SharedAverager> averager_;  // for several ranks
  Nanoseconds allreduce_alone_ = 0;
  TorchTrainer trainer_;
};

}  // namespace

// This thread makes no team of its own at load; cpu_session.cpp says why.
std::unique_ptr<Session> make_torch_cpu_train_session(const Model& model, const LoadOptions& options, const TorchSettings& settings) {
  at::set_num_threads(1);
  try {
    auto session = std::make_unique<TorchCpuTrainSession>(model, options, settings);
    at::set_num_threads(options.threads);
    return session;
  } catch (const std::exception& failure) {
    throw torch_error(failure, "loading the model");
  }
}

}  // namespace deepgap
