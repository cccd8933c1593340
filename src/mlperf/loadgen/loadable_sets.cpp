#include "mlperf/loadgen/loadable_sets.h"

#include "mlperf/loadgen/random.h"

#include <algorithm>
#include <numeric>

namespace deepgap {
namespace {

int64_t shuffled_samples(const LoadgenSettings& settings, const EffectiveLoadgenSettings& effective, LoadgenMode mode) {
  if (settings.rules == LoadgenRules::v5) return settings.total_sample_count;
  const bool accuracy = mode == LoadgenMode::accuracy;
  return std::min(settings.total_sample_count, accuracy ? effective.accuracy_sample_count : effective.performance_sample_count);
}

}  // namespace

LoadableSets::LoadableSets(const LoadgenSettings& settings, LoadgenMode mode) {
  const auto effective = effective_settings(settings);
  order_.resize(static_cast<size_t>(shuffled_samples(settings, effective, mode)));
  std::iota(order_.begin(), order_.end(), 0U);
  LoadgenRandom(settings.qsl_rng_seed).shuffle(order_);
  per_set_ = static_cast<size_t>(effective.performance_sample_count);
  padding_ = settings.scenario == LoadgenScenario::multi_stream ? static_cast<size_t>(effective.samples_per_query - 1) : 0;
}

size_t LoadableSets::count() const { return (order_.size() + per_set_ - 1) / per_set_; }

size_t LoadableSets::size(size_t set) const { return std::min(per_set_, order_.size() - set * per_set_); }

std::vector<uint32_t> LoadableSets::padded(size_t set) const {
  const size_t own = size(set);
  const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(set * per_set_);
  std::vector<uint32_t> indices(begin, begin + static_cast<std::ptrdiff_t>(own));
  indices.reserve(own + padding_);
  for (size_t i = 0; i < padding_; ++i) indices.push_back(indices[i]);  // beyond `own` it goes around
  return indices;
}

}  // namespace deepgap
