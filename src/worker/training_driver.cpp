#include "worker/training_driver.h"

#include "scenario/forwarding_target.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

namespace deepgap {
namespace {

// Remembers the last loss, and the first that is not a number.
class LossMeter final : public ForwardingTarget {
 public:
  explicit LossMeter(Target& target) : ForwardingTarget(target) {}
  void on_completion(TargetCompletion completion) override {
    watch(std::move(completion), [this](std::span<const Completed> completed) {
      for (const Completed& c : completed)
        if (c.status == Status::ok && !c.outputs.empty()) add(c.outputs.front());
    });
  }
  int64_t steps() const { return steps_; }
  double last() const { return last_; }
  std::optional<int64_t> broken_at() const { return broken_at_; }  // counted from 1

 private:
  void add(const TensorView& output) {
    if (output.type != DataType::f32 || output.bytes() < sizeof(float)) return;  // from an engine that computes nothing
    float loss = 0;
    std::memcpy(&loss, output.data, sizeof(loss));
    const std::lock_guard lock(mutex_);
    last_ = loss;
    ++steps_;
    if (!std::isfinite(loss) && !broken_at_) broken_at_ = steps_;
  }

  std::mutex mutex_;
  int64_t steps_ = 0;
  double last_ = 0;
  std::optional<int64_t> broken_at_;
};

class TrainingDriver final : public WorkloadDriver {
 public:
  explicit TrainingDriver(std::unique_ptr<WorkloadDriver> steps) : steps_(std::move(steps)) {}

  std::string unit() const override { return "step"; }
  int64_t in_flight() const override { return steps_->in_flight(); }
  bool uses_all_slots() const override { return steps_->uses_all_slots(); }
  bool judges_accuracy() const override { return true; }  // a step answers no class
  bool was_warming() const override { return steps_->was_warming(); }

  WarmedUp warm_up(const DriverContext& context) override {
    LossMeter losses(context.target);
    WarmedUp warmed_up = steps_->warm_up(through(losses, context));
    warm_steps_ = losses.steps();
    if (losses.broken_at()) broken_in_warm_up_ = losses.broken_at();
    return warmed_up;
  }
  void fill(const DriverContext& context) override {
    losses_.emplace(context.target);
    steps_->fill(through(*losses_, context));
  }
  Measured measured(const DriverContext& context) override {
    Measured measured = steps_->measured(context);
    if (losses_->steps() > 0) measured.estimates["final_loss"] = {losses_->last(), {}, {}, 1};
    const auto broken = broken_in_warm_up_ ? broken_in_warm_up_ : losses_->broken_at();
    if (broken)
      measured.wrong = fmt::format("the loss is not finite from step {}{} on: use a lower --learning-rate", *broken,
                                   broken_in_warm_up_ ? " of the warm-up" : "");
    measured.facts["train.steps_before"] = warm_steps_;
    losses_.reset();
    return measured;
  }

 private:
  static DriverContext through(Target& target, const DriverContext& context) {
    return {context.order,   context.clock, context.heartbeat,  context.interrupted, context.dataset,
            context.samples, target,        context.dispatcher, context.end_to_end,  context.turns};
  }

  std::unique_ptr<WorkloadDriver> steps_;
  std::optional<LossMeter> losses_;
  int64_t warm_steps_ = 0;
  std::optional<int64_t> broken_in_warm_up_;
};

}  // namespace

std::unique_ptr<WorkloadDriver> make_training_driver(std::unique_ptr<WorkloadDriver> steps) {
  return std::make_unique<TrainingDriver>(std::move(steps));
}

}  // namespace deepgap
