// A loaded engine that runs one batch, or one step of a training, at a time: for what is looked at and not measured.
#pragma once

#include <deepgap/backend.h>
#include <deepgap/model.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

class BatchRunner {
 public:
  // Runs `options.batch_sizes.front()` samples that cycle `inputs`, which outlive it, as do the backend and the model. Sets the completion
  // callback in `options`; throws as Backend::load().
  BatchRunner(Backend& backend, const Model& model, LoadOptions options, std::span<const std::vector<TensorView>> inputs);
  BatchRunner(const BatchRunner&) = delete;
  BatchRunner& operator=(const BatchRunner&) = delete;

  // Returns the time from the hand-over until the engine says that it is done. Throws Error{refused} if it failed.
  Nanoseconds run();
  std::vector<LayerTiming> layers() { return session_->layer_timings(); }
  bool run_layers(const LayerMark& mark) { return session_->run_layers(mark); }
  void reset() { session_->reset(); }
  Clock& clock() { return clock_; }

 private:
  std::string name_;
  Clock& clock_;
  std::vector<uint32_t> samples_;
  Nanoseconds end_ = 0;
  std::optional<Error> failure_;
  std::unique_ptr<Session> session_;  // last: its completion uses the rest
};

// Returns how many rounds a profile is made of: `wanted`, or where that is 0 as many as fit into some seconds from `begin` on.
bool has_enough_rounds(int done, int wanted, Nanoseconds spent);
inline constexpr int profile_warm_up_runs = 3;
// The mean over the quicker half of so many rounds, after the warm-up runs.
struct TimedRounds {
  Nanoseconds mean = 0;
  int rounds = 0;
};
TimedRounds time_rounds(BatchRunner& runner, int wanted);

}  // namespace deepgap
