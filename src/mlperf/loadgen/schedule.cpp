#include "mlperf/loadgen/schedule.h"

#include <deepgap/error.h>

#include <algorithm>

namespace deepgap {
namespace {

constexpr int64_t latest_ns = INT64_MAX / 4;

std::vector<LoadgenMode> phases_backwards(LoadgenMode mode) {
  if (mode == LoadgenMode::submission) return {LoadgenMode::performance, LoadgenMode::accuracy};
  return {mode};
}

}  // namespace

LoadgenSchedule::LoadgenSchedule(const LoadgenSettings& settings)
    : settings_(settings), modes_(phases_backwards(settings.mode)), arrivals_(settings.schedule_rng_seed) {
  check_settings(settings_);
  effective_ = effective_settings(settings_);
}

const LoadgenSet* LoadgenSchedule::next_set() {
  while (sets_ && next_query() != nullptr) {
  }
  if (++set_ >= sets_in_phase_) {
    if (modes_.empty()) {
      sets_.reset();
      return nullptr;
    }
    loaded_.mode = modes_.back();
    modes_.pop_back();
    sets_.emplace(settings_, loaded_.mode);
    // Performance is measured with one set that stays in memory; accuracy needs every sample.
    sets_in_phase_ = loaded_.mode == LoadgenMode::accuracy ? sets_->count() : 1;
    set_ = 0;
  }
  enter(loaded_.mode, set_);
  return &loaded_;
}

// MultiStream makes whole rounds for performance, though it does not pick by them, and none for accuracy.
bool LoadgenSchedule::equal_rounds() const {
  return settings_.equal_issue && !(settings_.scenario == LoadgenScenario::multi_stream && phase_.mode == LoadgenMode::accuracy);
}

void LoadgenSchedule::enter(LoadgenMode mode, size_t set) {
  loaded_.indices = sets_->padded(set);
  phase_ = loadgen_phase(settings_, mode, sets_->size(set), loaded_.indices.size());
  picks_.emplace(settings_, phase_);
  arrivals_ = LoadgenRandom(settings_.schedule_rng_seed);
  queries_made_ = last_ns_ = next_ns_ = samples_left_ = 0;
  const auto length = static_cast<int64_t>(loaded_.indices.size());
  if (!equal_rounds()) return;
  int64_t& whole = settings_.scenario == LoadgenScenario::offline ? phase_.samples_per_query : phase_.min_queries;
  whole = (whole + length - 1) / length * length;
}

int64_t LoadgenSchedule::period() {
  if (settings_.scenario == LoadgenScenario::server) return static_cast<int64_t>(arrivals_.exponential(effective_.target_qps) * 1e9);
  return static_cast<int64_t>(1 / effective_.target_qps * 1e9);  // rounded twice, as LoadGen does
}

const LoadgenQuery* LoadgenSchedule::next_query() {
  while (samples_left_ > 0) next_sample();
  if (!picks_ || (last_ns_ >= phase_.generated_ns && queries_made_ >= phase_.min_queries)) return nullptr;
  if (phase_.max_queries != 0 && queries_made_ == phase_.max_queries) return nullptr;
  query_ = {queries_++, next_ns_, phase_.samples_per_query};
  samples_left_ = phase_.samples_per_query;
  ++queries_made_;
  last_ns_ = next_ns_;
  next_ns_ += period();
  if (next_ns_ > latest_ns) throw Error(ErrorKind::usage, "MLPerf settings: at this target_qps so many queries take more than 70 years");
  const bool whole_rounds = equal_rounds() && settings_.scenario != LoadgenScenario::offline;
  if (whole_rounds && queries_made_ >= phase_.min_queries && last_ns_ < phase_.generated_ns) {
    phase_.min_queries += static_cast<int64_t>(loaded_.indices.size());
  }
  return &query_;
}

LoadgenSample LoadgenSchedule::next_sample() {
  const bool streams = settings_.scenario == LoadgenScenario::multi_stream;
  const bool first = samples_left_ == query_.samples;
  stream_position_ = streams && !first ? stream_position_ + 1 : picks_->next();
  --samples_left_;
  return {samples_++, loaded_.indices[stream_position_], log_values_.canonical()};
}

size_t LoadgenSchedule::next_samples(std::span<LoadgenSample> samples) {
  const auto count = static_cast<size_t>(std::min(static_cast<int64_t>(samples.size()), samples_left_));
  for (size_t i = 0; i < count; ++i) samples[i] = next_sample();
  return count;
}

}  // namespace deepgap
