// Picks the samples of a loaded set that LoadGen's queries ask for, one after the other, without a list of them all.
//
// LoadGen draws everything that any of its ways of picking could need from one stream, in a fixed order, before it picks. This class does
// too, but keeps only what the chosen way needs: the permutations of equal_issue, as long as the run in LoadGen, are drawn again from a
// copy of the stream as they are asked for.
#pragma once

#include "mlperf/loadgen/random.h"
#include "mlperf/loadgen/settings.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace deepgap {

// One call of LoadGen's query generation: which set it is for and how much is asked of it.
struct LoadgenPhase {
  LoadgenMode mode = LoadgenMode::performance;  // or accuracy
  size_t set_size = 0, padded_size = 0;
  int64_t samples_per_query = 1;
  int64_t min_queries = 0;
  int64_t max_queries = 0;   // 0: no maximum
  int64_t generated_ns = 0;  // queries are made until this time of arrival, and until there are min_queries
};
LoadgenPhase loadgen_phase(const LoadgenSettings& settings, LoadgenMode mode, size_t set_size, size_t padded_size);

class LoadgenPicks {
 public:
  LoadgenPicks(const LoadgenSettings& settings, const LoadgenPhase& phase);
  // A position in the padded set: a query's (first) sample, or in Offline the next sample of the one query.
  size_t next();

 private:
  enum class Way {
    with_replacement,
    listed,         // once through a shuffled list of positions
    in_order,       // round and round
    same,           // one position
    permuted,       // each position once, in a new order each time round
    permuted_again  // the same, but from the first order again after `orders_` of them
  };
  static Way way_for(const LoadgenSettings& settings, const LoadgenPhase& phase);
  void draw_lists(size_t stride);
  void draw_table();
  void next_order();

  Way way_;
  bool accuracy_, unique_;
  size_t set_size_, padded_size_, same_;
  size_t orders_ = 0, orders_drawn_ = 0;
  size_t at_ = 0;
  std::vector<uint32_t> positions_;
  LoadgenRandom stream_, table_start_;
};

}  // namespace deepgap
