#include "plan/auto_repeats.h"

#include "record/record_json.h"
#include "stats/interval.h"

namespace deepgap {
namespace {

constexpr size_t fewest = 5;
constexpr int most_failures = 2;  // in a row: it will not do better

}  // namespace

Batch AutoRepeats::next() {
  while (!is_over_()) {
    Batch batch = grid_->next();
    if (batch.jobs.empty()) return batch;
    std::erase_if(batch.jobs, [&](const Job& job) { return job.skip_reason.empty() && seen_[job.point_id].enough; });
    if (!batch.jobs.empty()) return batch;
  }
  return {};
}

void AutoRepeats::done(const Record& record) {
  Seen& seen = seen_[point_id(record.point)];
  const auto throughput = record.estimates.find("throughput");
  if (record.outcome != Outcome::ok || throughput == record.estimates.end()) {
    seen.enough = seen.enough || ++seen.failures >= most_failures;
    return;
  }
  seen.failures = 0;
  seen.throughputs.push_back(throughput->second.value);
  if (seen.throughputs.size() < fewest - 1) return;
  const auto mean = estimate_mean(seen.throughputs);
  const bool narrow = mean && mean->interval().half_width() <= record.stopping.interval * mean->mean;
  seen.enough = seen.enough || (narrow && seen.narrow && seen.throughputs.size() >= fewest);
  seen.narrow = narrow;
}

}  // namespace deepgap
