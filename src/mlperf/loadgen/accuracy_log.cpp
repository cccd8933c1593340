#include "mlperf/loadgen/accuracy_log.h"

#include "mlperf/loadgen/random.h"

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

// Computes the probability from the number of samples that the run was expected to issue.
double probability_for(const LoadgenSettings& settings) {
  if (settings.accuracy_log_sampling_target == 0) return settings.accuracy_log_probability;
  const auto effective = effective_settings(settings);
  const bool offline = settings.scenario == LoadgenScenario::offline;
  auto expected = static_cast<int64_t>(effective.target_qps * static_cast<double>(settings.min_duration_ms) / 1000);
  if (!offline) expected *= effective.samples_per_query;
  expected = std::max(expected, effective.min_sample_count);
  return static_cast<double>(settings.accuracy_log_sampling_target) / static_cast<double>(expected);
}

}  // namespace

AccuracyLogChoice::AccuracyLogChoice(const LoadgenSettings& settings)
    : offset_(LoadgenRandom(settings.accuracy_log_rng_seed).canonical()), probability_(probability_for(settings)) {}

bool AccuracyLogChoice::logs(double value) const { return std::fmod(value + offset_, 1.0) <= probability_; }

}  // namespace deepgap
