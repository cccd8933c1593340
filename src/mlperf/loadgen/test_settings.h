// Settings of small runs that tests begin with.
#pragma once

#include "mlperf/loadgen/settings.h"

namespace deepgap {

inline LoadgenSettings small_run(LoadgenScenario scenario) {
  return {.scenario = scenario,
          .qsl_rng_seed = 1,
          .sample_index_rng_seed = 2,
          .schedule_rng_seed = 3,
          .total_sample_count = 100,
          .performance_sample_count = 30,
          .min_duration_ms = 20,
          .min_query_count = 50,
          .target_qps = 10000,
          .expected_latency_ns = 100000};
}

}  // namespace deepgap
