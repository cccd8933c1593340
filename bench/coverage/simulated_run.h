// One run of a Point without an engine: the warm-up and the window that the real rules ask for, over a source's query times on virtual
// time.
#pragma once

#include "stats/interval.h"
#include "stats/test_sources.h"

#include <deepgap/record.h>

#include <string>
#include <vector>

namespace deepgap {

struct SimulatedRun {
  Estimate throughput, p50;
  Verdict verdict = Verdict::none;
  std::string reason;
  double warmup_s = 0, window_s = 0;  // until the window that counts began, and its length
  double first_warmup_s = 0;          // without the windows that were still warming up
  bool was_steady = false;            // the warm-up saw it, within its budget
  int windows = 0;
};

SimulatedRun simulate_run(const QuerySource& source, const StoppingSettings& settings);

// One repeat of a Point: a process of its own, whose window knows its mean to 0.3 % or, where it was too short, to 1.4 %.
inline constexpr double asked_of_repeats = 0.01;
Record repeat_of(Random& random, double truth, double process, bool wide, int repeat, int64_t batch = 1, const std::string& run = "r");

// Returns whether an interval holds the truth, which the tables count. Without an upper end it bounds nothing there.
bool holds(const Estimate& estimate, double truth);
double median_of(std::vector<double> values);  // 0 of none
double percent(int part, int whole);           // 0 of none
// A run's throughput as one of several repeats.
MeanEstimate as_repeat(const Estimate& throughput);

}  // namespace deepgap
