// Systems with known truth for the searches of this folder: machines whose runs scatter and drift, and queues. For the tests here and for
// bench/coverage.
#pragma once

#include "plan/tune_search.h"
#include "stats/random_stream.h"

#include <cmath>
#include <functional>
#include <vector>

namespace deepgap {

using TunePlay = std::function<TuneRun(const TuneTrial&)>;

inline double normal_of(RandomStream& random) {
  return std::sqrt(-2 * std::log(random.uniform())) * std::cos(6.283185307 * random.uniform());
}

// Configurations of these speeds: noise of `spread` from run to run, a drift of as much over a search, and an interval within the run of
// half the spread.
inline TunePlay drifting_machine(const std::vector<double>& speeds, double spread, RandomStream& random) {
  return [&random, speeds, spread, drift = 0.0](const TuneTrial& trial) mutable {
    drift += spread / 8 * normal_of(random);
    const double value = speeds[trial.configuration] * std::exp(spread * normal_of(random) + drift);
    TuneRun run;
    run.throughput = value;
    run.throughput_interval = Interval{value * std::exp(-spread / 2), value * std::exp(spread / 2)};
    return run;
  };
}

// The p99 of an M/M/1 queue that serves `rate` a second is ln(100) / (rate - load) seconds (Kleinrock, Queueing Systems I, 3.2): under a
// bound of 50 ms its peak is so many below.
inline double mm1_peak_of(double rate) { return rate - 4.605170186 / 0.05; }
inline double mm1_share_of_bound(double rate, double load) { return load >= rate ? 100 : 4.605170186 / (rate - load) / 0.05; }

// Configurations that are such queues, with lognormal noise of `spread` in the p99 of a run.
inline TunePlay mm1_queues(const std::vector<double>& rates, double spread, RandomStream& random) {
  return [&random, rates, spread](const TuneTrial& trial) {
    const double share = mm1_share_of_bound(rates[trial.configuration], *trial.load) * std::exp(spread * normal_of(random));
    TuneRun run;
    run.throughput = *trial.load;
    run.peak = {share <= 1, Interval{share * std::exp(-1.96 * spread), share * std::exp(1.96 * spread)}};
    return run;
  };
}

}  // namespace deepgap
