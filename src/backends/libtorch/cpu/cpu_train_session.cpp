#include "backends/libtorch/cpu/cpu_train_session.h"

#include "backends/common/query_thread.h"
#include "backends/common/staging.h"
#include "backends/common/train_ports.h"
#include "backends/libtorch/cpu/gathered_inputs.h"
#include "backends/libtorch/cpu/shared_averager.h"
#include "backends/libtorch/torch_failure.h"
#include "backends/libtorch/torch_network.h"
#include "backends/libtorch/train/step_clock.h"
#include "backends/libtorch/train/torch_trainer.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace deepgap {
namespace {

TorchTarget target_of(Precision precision, const TorchSettings& settings) {
  TorchTarget target;
  target.trains = true;
  target.channels_last = settings.channels_last;
  if (precision != Precision::fp32) target.autocast = at::kBFloat16;  // bf16 and mixed are the same here
  return target;
}

struct Slot {
  std::vector<SlotBuffer> inputs;
  float loss = 0;
  Shape loss_shape{1};
  TensorView output;
  // The step in flight.
  std::vector<uint32_t> samples;
  uint64_t tag = 0;
  Nanoseconds enqueued = 0;
};

class TorchCpuTrainSession final : public Session {
 public:
  TorchCpuTrainSession(const Model& model, const LoadOptions& options, const TorchSettings& settings)
      : clock_(*options.clock),
        completion_(options.completion),
        inputs_(train_ports("libtorch", model.graph(), options.train)),
        staging_("libtorch", inputs_),
        slots_(static_cast<size_t>(options.slots)),
        trainer_(model, target_of(options.precision, settings), options.train),
        thread_([threads = options.threads] { at::set_num_threads(threads); }, [this](size_t slot) { answer(slots_[slot]); },
                [this](size_t slot) { deliver({.tag = slots_[slot].tag, .status = Status::cancelled}); }) {
    for (const int64_t batch : options.batch_sizes) {
      largest_ = std::max(largest_, batch);
      input_shapes("libtorch", model.name(), inputs_, batch);
      trainer_.prepare(batch);
    }
    if (options.train.ranks > 1) {
      averager_.emplace(options.exchange, options.train.rank, options.train.ranks, trainer_.trained_numbers());
      trainer_.average_gradients(*averager_, settings.bucket_bytes());
      allreduce_alone_ = time_all_reduce(trainer_, clock_, [] {});
    }
    for (Slot& slot : slots_) {
      slot.inputs = room_for(inputs_, largest_);
      slot.output = {DataType::f32, slot.loss_shape, reinterpret_cast<const std::byte*>(&slot.loss)};
    }
  }

  int slots() const override { return static_cast<int>(slots_.size()); }
  void stage(std::span<const std::vector<TensorView>> inputs) override { staging_.stage(inputs); }
  std::span<const TensorView> outputs(int slot) const override { return {&slots_.at(static_cast<size_t>(slot)).output, 1}; }

  void enqueue(int index, std::span<const uint32_t> samples, uint64_t tag) override {
    Slot& slot = slots_.at(static_cast<size_t>(index));
    slot.enqueued = clock_.now();
    slot.samples.assign(samples.begin(), samples.end());
    slot.tag = tag;
    thread_.enqueue(static_cast<size_t>(index));
  }
  void drain() override { thread_.drain(); }
  void cancel() override { thread_.cancel(); }

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
      kinds = trainer_.memory_kinds(largest_, gathered(staging_, inputs_, samples, largest_, slots_.front().inputs));
    });
    return kinds;
  }

 private:
  void answer(Slot& slot) {
    const std::array<Mark, 2> begin{{{MarkId::enqueued, 0, slot.enqueued}, {MarkId::h2d_begin, 0, clock_.now()}}};
    Done done{.tag = slot.tag};
    std::optional<Error> error;
    StepClock parts([this] { return clock_.now(); });
    std::array<Mark, 8> marks;
    try {
      const std::vector<at::Tensor> inputs = gathered(staging_, inputs_, slot.samples, largest_, slot.inputs);
      parts.begin();
      const at::Tensor loss = trainer_.step(static_cast<int64_t>(slot.samples.size()), inputs, [&](TrainPart part) { parts.ended(part); });
      slot.loss = *loss.const_data_ptr<float>();
      parts.end();
      std::copy(begin.begin(), begin.end(), marks.begin());
      const size_t count = parts.put(std::span(marks).subspan(begin.size())) + begin.size();
      done.marks = std::span(marks).first(count);
    } catch (const std::exception& failure) {
      error = torch_error(failure, "training the model");
      done = {slot.tag, Status::failed, std::span(begin).first(1), &*error};
    }
    deliver(done);
  }

  // Another thread may use the slot again as soon as the completion was called.
  void deliver(const Done& done) { completion_(std::span(&done, 1)); }

  // Runs the work with the trainer's own thread and its team.
  template <typename Work>
  void apart(Work work) {
    try {
      thread_.run(work);
    } catch (const std::exception& failure) {
      throw torch_error(failure, "training the model");
    }
  }

  Clock& clock_;
  Completion completion_;
  std::vector<Port> inputs_;  // the target behind the Graph's
  Staging staging_;
  int64_t largest_ = 0;  // batch
  std::vector<Slot> slots_;
  std::optional<SharedAverager> averager_;  // for several ranks
  Nanoseconds allreduce_alone_ = 0;
  TorchTrainer trainer_;
  QueryThread thread_;  // goes first
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
