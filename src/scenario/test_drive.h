// Drives a scenario to the end in virtual time, for tests of scenarios.
#pragma once

#include "base/clocks.h"
#include "scenario/scenario.h"

#include <deepgap/error.h>

#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace deepgap {

struct Kept final : TimingSink {
  std::vector<Timing> timings;
  void add(const Timing& timing) override { timings.push_back(timing); }
};

inline StoppingSettings counts(int64_t iterations) {
  StoppingSettings settings;
  settings.name = "counts";
  settings.iterations = iterations;
  return settings;
}

inline StoppingSettings lasting(Nanoseconds duration) {
  StoppingSettings settings;
  settings.name = "duration";
  settings.duration = duration;
  return settings;
}

// Samples 0..samples-1, driven to the end.
struct Driven {
  std::unique_ptr<Clock> clock = make_virtual_clock();
  Kept kept;
  std::unique_ptr<Stopping> stopping;
  std::atomic<bool> interrupted{false};
  OfferedLoad offered;
  Failures failures;
  Nanoseconds lead = 0;
  std::function<void()> on_window;

  // Drives as the worker does, with the settings' duration as that of the schedule.
  void drive(Target& target, const std::string& scenario, int64_t batch, const StoppingSettings& settings,
             const std::map<std::string, std::string>& options = {}, uint32_t samples = 4) {
    stopping = make_stopping(settings);
    Traffic traffic{&target, {}, batch, stopping.get(), &kept};
    traffic.offered = &offered;
    traffic.failures = &failures;
    if (settings.name == "duration") traffic.duration = *settings.duration;
    traffic.lead = lead;
    traffic.on_window = on_window;
    traffic.samples.resize(samples);
    std::iota(traffic.samples.begin(), traffic.samples.end(), 0U);
    const auto made = Registry<Scenario>::instance().make("scenario", scenario);
    made->parse(options);
    made->drive(traffic, *clock, interrupted);
  }

  // Drives without a query that warms up.
  void drive_no_warm_up(Target& target, const std::string& scenario, const std::map<std::string, std::string>& options = {}) {
    StoppingSettings settings;
    settings.warmup = 0;
    const auto warmup = make_warmup(settings);
    const Traffic traffic{&target, {0}, 1, warmup.get(), &kept};
    const auto made = Registry<Scenario>::instance().make("scenario", scenario);
    made->parse(options);
    made->drive(traffic, *clock, interrupted);
  }
};

template <typename Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace deepgap
