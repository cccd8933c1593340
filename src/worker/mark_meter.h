// MarkMeter: a Target that passes everything on and adds up the times between the marks of its queries: copies to the device, computing,
// copies back, as the engine's device clock saw them; of a step of training its parts too. Costs well below a microsecond a query.
#pragma once

#include "record/marked_parts.h"
#include "scenario/forwarding_target.h"
#include "stats/correlated.h"

#include <deepgap/record.h>

#include <array>
#include <cstddef>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

class MarkMeter final : public ForwardingTarget {
 public:
  static constexpr size_t default_limit = 1'000'000;
  // `target` outlives it. The parts of single queries are kept for the first `limit` completions, which bounds memory.
  explicit MarkMeter(Target& target, size_t limit = default_limit) : ForwardingTarget(target), limit_(limit) {}
  void on_completion(TargetCompletion completion) override;

  // The keys are the names of marked_parts, the values means over the queries that had both marks; none where the engine sets none.
  std::map<std::string, Estimate> estimates() const;
  // The same of single queries, a Series for each part that any of them has: the times are the ends of those `timings` whose query has the
  // part, in their order. Only for queries whose numbers are not used again: those of MLPerf runs and of time slices are. A query that was
  // completed in several batches has the longest of them.
  std::vector<Series> series(std::span<const Timing> timings) const;
  void restart();  // forgets what came before

 private:
  static constexpr Nanoseconds none = -1;
  using Parts = std::array<Nanoseconds, marked_parts.size()>;  // `none` where a mark is missing
  struct Kept {
    uint64_t query;
    Parts parts;
  };
  static Parts parts_of(std::span<const Mark> marks);
  void add(uint64_t query, std::span<const Mark> marks);

  size_t limit_;
  mutable std::mutex mutex_;
  std::array<RatioSeries, marked_parts.size()> sums_;
  std::vector<Kept> kept_;
};

}  // namespace deepgap
