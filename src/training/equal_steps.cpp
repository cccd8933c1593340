#include "training/equal_steps.h"

#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace deepgap {
namespace {

constexpr int64_t first_steps = 3;  // while engines still allocate and choose
constexpr int64_t timed_steps = 3;
constexpr double warm_s = 1;  // that more warm-up steps fill, where no number of them was given

class EqualSteps final : public WorkloadDriver {
 public:
  using MakeSteps = std::function<std::unique_ptr<WorkloadDriver>(const StoppingSettings&)>;
  EqualSteps(MakeSteps make_steps, StoppingSettings stopping)
      : make_steps_(std::move(make_steps)), stopping_(std::move(stopping)), steps_(make_steps_(counting(1))) {}

  std::string unit() const override { return steps_->unit(); }
  std::string window() const override { return steps_->window(); }
  int64_t in_flight() const override { return steps_->in_flight(); }
  bool uses_all_slots() const override { return steps_->uses_all_slots(); }
  bool judges_accuracy() const override { return steps_->judges_accuracy(); }

  WarmedUp warm_up(const DriverContext& context) override {
    int64_t warmed = warm(context, stopping_.warmup.value_or(first_steps));
    const Nanoseconds before = context.clock.now();
    warmed += warm(context, timed_steps);
    if (context.interrupted.load()) return {warmed, ""};
    const double step_s = slowest(context, static_cast<double>(context.clock.now() - before) / 1e9 / timed_steps);
    if (!stopping_.warmup) warmed += warm(context, steps_in(warm_s, step_s));
    agreed_ = steps_in(static_cast<double>(stopping_.duration.value_or(0)) / 1e9, step_s);
    steps_ = make_steps_(counting(agreed_));
    return {warmed, ""};
  }
  void fill(const DriverContext& context) override { steps_->fill(context); }
  Measured measured(const DriverContext& context) override {
    Measured measured = steps_->measured(context);
    measured.facts["train.steps_agreed"] = agreed_;
    return measured;
  }

 private:
  StoppingSettings counting(int64_t steps) const {
    StoppingSettings settings = stopping_;
    settings.name = "counts";
    settings.iterations = steps;
    settings.duration.reset();
    return settings;
  }
  int64_t warm(const DriverContext& context, int64_t steps) {
    if (steps == 0 || context.interrupted.load()) return 0;
    WorkOrder order = context.order;
    order.stopping.warmup = steps;
    return steps_
        ->warm_up({order, context.clock, context.heartbeat, context.interrupted, context.dataset, context.samples, context.target,
                   context.dispatcher, context.end_to_end, context.turns})
        .units;
  }
  static double slowest(const DriverContext& context, double own_step_s) {
    double slowest_s = own_step_s;
    for (const std::string& said : exchange_with_ranks(*context.turns, fmt::format("{}", own_step_s))) {
      const auto step_s = parse_double(said);
      if (!step_s) throw Error(ErrorKind::internal, fmt::format("expected the length of a step from a rank, got '{}'", said));
      slowest_s = std::max(slowest_s, *step_s);
    }
    return slowest_s;
  }

  MakeSteps make_steps_;
  StoppingSettings stopping_;
  std::unique_ptr<WorkloadDriver> steps_;
  int64_t agreed_ = 0;
};

}  // namespace

int64_t steps_in(double seconds, double step_s) {
  constexpr int64_t fewest = 2;
  if (!(step_s > 0)) return fewest;
  return std::max(fewest, static_cast<int64_t>(std::ceil(std::min(seconds / step_s, 1e9))));
}

std::unique_ptr<WorkloadDriver> make_equal_steps(std::function<std::unique_ptr<WorkloadDriver>(const StoppingSettings&)> make_steps,
                                                 StoppingSettings stopping) {
  return std::make_unique<EqualSteps>(std::move(make_steps), std::move(stopping));
}

}  // namespace deepgap
