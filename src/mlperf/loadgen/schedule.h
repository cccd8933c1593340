// The schedule of an MLPerf run, to the last bit as LoadGen makes it: loaded sets, queries, samples, times of arrival, sequence ids and
// the draws for the accuracy log.
//
//     LoadgenSchedule schedule(settings);
//     while (const LoadgenSet* set = schedule.next_set())   // load it
//       while (const LoadgenQuery* query = schedule.next_query())
//         while (size_t n = schedule.next_samples(buffer)) ...
//
// Made as it is asked for: memory is a few words for each sample of the library, whatever the run's length. One thread. It says what is
// issued at most: SingleStream and MultiStream runs end at their minimum duration, which depends on the answers.
#pragma once

#include "mlperf/loadgen/loadable_sets.h"
#include "mlperf/loadgen/picks.h"
#include "mlperf/loadgen/random.h"
#include "mlperf/loadgen/settings.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace deepgap {

struct LoadgenSet {
  LoadgenMode mode = LoadgenMode::performance;  // the phase it is for: performance or accuracy
  std::vector<uint32_t> indices;                // to be loaded, with padding
};

struct LoadgenQuery {
  uint64_t sequence = 0;     // counted through the whole run
  int64_t scheduled_ns = 0;  // after the start of issuing this set's queries
  int64_t samples = 0;
};

struct LoadgenSample {
  uint64_t sequence = 0;  // counted through the whole run: seq_id of the accuracy log
  uint32_t index = 0;     // index into the library: qsl_idx
  double accuracy_log_value = 0;
};

// The queries generated so far for the set at hand.
struct LoadgenGenerated {
  int64_t queries = 0, samples_per_query = 0;
  int64_t duration_ns = 0;  // when a further query would arrive
};

class LoadgenSchedule {
 public:
  explicit LoadgenSchedule(const LoadgenSettings& settings);  // throws Error{usage}: check_settings

  // Each skips what is left of the former set or query. nullptr at the end. What they point at holds until the next call.
  const LoadgenSet* next_set();
  const LoadgenQuery* next_query();
  // Fills `samples` from its beginning; how many, 0 when the query has no more. Throws Error{usage} past the end of 64-bit time.
  size_t next_samples(std::span<LoadgenSample> samples);
  LoadgenGenerated generated() const { return {queries_made_, phase_.samples_per_query, next_ns_}; }

 private:
  void enter(LoadgenMode mode, size_t set);
  bool equal_rounds() const;
  int64_t period();
  LoadgenSample next_sample();

  LoadgenSettings settings_;
  EffectiveLoadgenSettings effective_;
  std::vector<LoadgenMode> modes_;  // phases to come, the last first
  std::optional<LoadableSets> sets_;
  size_t set_ = 0, sets_in_phase_ = 0;

  LoadgenSet loaded_;
  LoadgenPhase phase_;
  std::optional<LoadgenPicks> picks_;
  LoadgenRandom arrivals_;
  int64_t queries_made_ = 0, last_ns_ = 0, next_ns_ = 0;

  LoadgenQuery query_;
  int64_t samples_left_ = 0;
  size_t stream_position_ = 0;  // MultiStream: where in the set the query has come to
  uint64_t queries_ = 0, samples_ = 0;
  LoadgenRandom log_values_{5489};  // whatever accuracy_log_rng_seed is: LoadGen never applies it
};

}  // namespace deepgap
