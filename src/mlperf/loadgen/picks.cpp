#include "mlperf/loadgen/picks.h"

#include <numeric>

namespace deepgap {

LoadgenPhase loadgen_phase(const LoadgenSettings& settings, LoadgenMode mode, size_t set_size, size_t padded_size) {
  const auto effective = effective_settings(settings);
  const bool accuracy = mode == LoadgenMode::accuracy;
  const bool offline = settings.scenario == LoadgenScenario::offline;
  LoadgenPhase phase{.mode = mode, .set_size = set_size, .padded_size = padded_size};
  const auto length = static_cast<int64_t>(padded_size);
  phase.samples_per_query = accuracy && offline ? static_cast<int64_t>(set_size) : effective.samples_per_query;
  if (accuracy || settings.issue_unique) {
    phase.min_queries = length / phase.samples_per_query;
  } else {
    phase.min_queries = effective.min_query_count;
    phase.generated_ns = effective.target_duration_ns * (settings.scenario == LoadgenScenario::server ? 1 : 2);
  }
  if (!accuracy) phase.max_queries = settings.max_query_count;
  return phase;
}

LoadgenPicks::Way LoadgenPicks::way_for(const LoadgenSettings& settings, const LoadgenPhase& phase) {
  const bool offline = settings.scenario == LoadgenScenario::offline;
  if (settings.issue_same) return Way::same;
  if (offline) return settings.equal_issue ? Way::permuted : Way::in_order;
  // In MultiStream equal_issue draws its table, but does not pick from it.
  if (settings.equal_issue && settings.scenario != LoadgenScenario::multi_stream) return Way::permuted_again;
  return settings.issue_unique || phase.mode == LoadgenMode::accuracy ? Way::listed : Way::with_replacement;
}

LoadgenPicks::LoadgenPicks(const LoadgenSettings& settings, const LoadgenPhase& phase)
    : way_(way_for(settings, phase)),
      accuracy_(phase.mode == LoadgenMode::accuracy),
      unique_(settings.issue_unique),
      set_size_(phase.set_size),
      padded_size_(phase.padded_size),
      same_(static_cast<size_t>(settings.issue_same_index)),
      stream_(settings.sample_index_rng_seed),
      table_start_(0) {
  const bool strided = settings.scenario == LoadgenScenario::multi_stream;
  draw_lists(strided ? static_cast<size_t>(phase.samples_per_query) : 1);
  const auto queries = static_cast<size_t>(phase.min_queries);
  orders_ = (queries + padded_size_ - 1) / padded_size_;
  draw_table();
}

// The accuracy list, then that of issue_unique: shuffles of the same plain list.
void LoadgenPicks::draw_lists(size_t stride) {
  const size_t length = (set_size_ + stride - 1) / stride;
  positions_.resize(way_ == Way::listed ? length : 0);
  for (size_t i = 0; i < positions_.size(); ++i) positions_[i] = static_cast<uint32_t>(i * stride);
  const auto draw = [&](bool wanted) {
    if (wanted && way_ == Way::listed) {
      stream_.shuffle(positions_);
    } else {
      stream_.skip_shuffle(length);
    }
  };
  if (accuracy_) draw(!unique_);
  draw(unique_);
}

void LoadgenPicks::draw_table() {
  table_start_ = stream_;
  for (size_t order = 0; order < orders_; ++order) stream_.skip_shuffle(padded_size_);
  if (way_ == Way::permuted_again) stream_ = table_start_;  // nothing else is drawn from it
  if (way_ != Way::permuted && way_ != Way::permuted_again) return;
  positions_.resize(padded_size_);
  at_ = padded_size_;  // the first order is drawn when it is asked for
}

void LoadgenPicks::next_order() {
  if (way_ == Way::permuted_again && orders_drawn_ == orders_) {
    stream_ = table_start_;
    orders_drawn_ = 0;
  }
  // Orders of the table are made of one another, those of Offline each of the plain one.
  if (way_ == Way::permuted || orders_drawn_ == 0) std::iota(positions_.begin(), positions_.end(), 0U);
  stream_.shuffle(positions_);
  ++orders_drawn_;
  at_ = 0;
}

size_t LoadgenPicks::next() {
  switch (way_) {
    case Way::with_replacement:
      return stream_.below(static_cast<uint32_t>(set_size_));
    case Way::listed:
      return positions_[at_++];
    case Way::in_order:
      if (at_ == padded_size_) at_ = 0;
      return at_++;
    case Way::same:
      return same_;
    case Way::permuted:
    case Way::permuted_again:
      if (at_ == padded_size_) next_order();
      return positions_[at_++];
  }
  return 0;
}

}  // namespace deepgap
