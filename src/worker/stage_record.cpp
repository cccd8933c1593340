#include "worker/stage_record.h"

#include "worker/series_estimate.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

constexpr std::array<const char*, stage_count> stage_names{"wait_decode", "read",    "decode",  "preprocess",
                                                           "wait_infer",  "copy_in", "compute", "copy_out"};

}  // namespace

void keep_stage_log(const StageLog& log, Measured& measured) {
  if (log.prepare_ms.count() == 0) return;
  for (size_t stage = 0; stage < stage_count; ++stage) {
    measured.estimates[fmt::format("stage_{}_ms", stage_names[stage])] = estimate_of(log.ms[stage]);
  }
  measured.estimates["prepare_ms_per_item"] = estimate_of(log.prepare_ms);
}

}  // namespace deepgap
