#include "worker/batch_runner.h"

#include "worker/load_session.h"
#include "worker/quicker_half.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {

BatchRunner::BatchRunner(Backend& backend, const Model& model, LoadOptions options, std::span<const std::vector<TensorView>> inputs)
    : name_(backend.name()), clock_(*options.clock) {
  options.completion = [this](std::span<const Done> done) {
    end_ = clock_.now();
    if (done.back().error != nullptr) failure_ = *done.back().error;
  };
  for (int64_t i = 0; i < options.batch_sizes.front(); ++i)
    samples_.push_back(static_cast<uint32_t>(static_cast<size_t>(i) % inputs.size()));
  session_ = load_session(backend, model, options);
  session_->stage(inputs);
}

Nanoseconds BatchRunner::run() {
  const Nanoseconds begin = clock_.now();
  session_->enqueue(0, samples_, 0);
  session_->drain();
  if (failure_) throw Error(ErrorKind::refused, fmt::format("{} failed: {}", name_, failure_->what()));
  return end_ - begin;
}

bool has_enough_rounds(int done, int wanted, Nanoseconds spent) {
  constexpr Nanoseconds budget = 5'000'000'000;
  constexpr int fewest = 5, most = 100;
  if (wanted > 0) return done >= wanted;
  return done >= most || (done >= fewest && spent > budget);
}

TimedRounds time_rounds(BatchRunner& runner, int wanted) {
  for (int i = 0; i < profile_warm_up_runs; ++i) runner.run();
  std::vector<Nanoseconds> times;
  const Nanoseconds begin = runner.clock().now();
  while (!has_enough_rounds(static_cast<int>(times.size()), wanted, runner.clock().now() - begin)) times.push_back(runner.run());
  return {mean_of_quicker_half(times), static_cast<int>(times.size())};
}

}  // namespace deepgap
