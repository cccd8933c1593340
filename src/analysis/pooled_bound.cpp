#include "analysis/pooled_bound.h"

#include "record/point_option.h"

#include <fmt/format.h>

#include <cmath>

namespace deepgap {

std::optional<PooledBound> pooled_bound(const Point& point, std::span<const Estimate> missed_shares) {
  if (missed_shares.size() < 2 || !option_of(point, "peak").empty()) return std::nullopt;
  const auto bound = latency_bound_from(option_of(point, "bound"));
  if (!bound) return std::nullopt;
  int64_t queries = 0, missed = 0;
  for (const Estimate& share : missed_shares) {
    queries += share.n;
    missed += std::llround(share.value * static_cast<double>(share.n));
  }
  PooledBound pooled{answer_of(*bound, queries, missed), {}};
  if (pooled.answer == BoundAnswer::held) return pooled;
  const std::string over = fmt::format("over {} repeats ", missed_shares.size());
  pooled.words = over + (pooled.answer == BoundAnswer::unknown
                             ? undecided_words(*bound, queries, missed)
                             : fmt::format("{} of {} queries missed the SLO {}, more than it allows", missed, queries, bound->text));
  return pooled;
}

}  // namespace deepgap
