// LatencyBound: what a percentile of latency must not exceed for a result to be valid: "p99=15ms"; of another time of a query that
// generates "ttft.p99=500ms". Several are joined by commas. Plain data; pure functions.
#pragma once

#include <deepgap/clock.h>

#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct LatencyBound {
  double percent = 99;
  Nanoseconds limit = 0;
  std::string text;                // as it was given
  std::string metric = "latency";  // latency, ttft, tpot or itl
};

// Parses a bound on latency alone; nullopt if `text` is not one.
std::optional<LatencyBound> latency_bound_from(const std::string& text);
// Parses likewise; throws Error{usage} naming `text` if it is not one.
LatencyBound parse_latency_bound(const std::string& text);
// Parses several bounds, each on another metric. Throws Error{usage}.
std::vector<LatencyBound> parse_latency_bounds(const std::string& text);
// "p99=15ms,ttft.p99=1s,p99=20ms" as values of an axis, each a set of bounds: a part on a metric that the set has already begins the next.
std::vector<std::string> join_bounds(const std::vector<std::string>& parts);
// "p99" of "p99=15ms".
inline std::string percentile_name(const LatencyBound& bound) { return bound.text.substr(0, bound.text.find('=')); }

// The fewest queries of which that percentile is not just the slowest one: 100 for p99.
int64_t fewest_queries(const LatencyBound& bound);

// Returns whether the bound is held in the long run, from so many queries of which so many missed it, with 99 % confidence either way:
// `held` by the early-stopping formula of MLPerf's LoadGen (stats/early_stopping.h), `missed` by the same tail on the other side. Both
// treat queries as independent of each other.
enum class BoundAnswer { held, missed, unknown };
BoundAnswer answer_of(const LatencyBound& bound, int64_t queries, int64_t missed);
// The fewest queries that can show that it is held, where none misses: 459 for p99.
int64_t fewest_to_hold(const LatencyBound& bound);
// Returns how many more queries would decide if as large a share of them missed; 0: unknown, because the share equals what may miss.
int64_t queries_needed(const LatencyBound& bound, int64_t queries, int64_t missed);

// Returns "3 of 500 queries missed the bound p99=15ms: too few to tell whether it is held; some 700 more may tell".
std::string undecided_words(const LatencyBound& bound, int64_t queries, int64_t missed);

// Returns how many of so many queries may be above the limit while the percentile, by nearest rank, is not: 1 of 100 for p99.
int64_t misses_allowed(const LatencyBound& bound, int64_t queries);

// Returns whether the percentile of this window alone can be held against the limit: there are queries enough, or more of the few have
// missed it than the fewest that would be enough may. A search, which makes many windows, asks this.
inline bool is_decided(const LatencyBound& bound, int64_t queries, int64_t missed) {
  return queries >= fewest_queries(bound) || missed > misses_allowed(bound, fewest_queries(bound));
}

}  // namespace deepgap
