#include "stats/latency_bound.h"

#include "base/text.h"
#include "stats/early_stopping.h"
#include "stats/percentile.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

namespace deepgap {
namespace {

constexpr std::array<std::string_view, 4> bounded_metrics{"latency", "ttft", "tpot", "itl"};

// "ttft" of "ttft.p99=500ms"; "latency" of "p99=15ms" and "p99.9=15ms".
std::string metric_of_part(const std::string& part) {
  const size_t dot = part.substr(0, part.find('=')).find('.');
  const std::string before = dot == std::string::npos ? "" : part.substr(0, dot);
  const bool is_word = !before.empty() && before.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
  return is_word ? before : "latency";
}

// Parses a bound on any metric.
std::optional<LatencyBound> bound_from(const std::string& text) {
  const std::string metric = metric_of_part(text);
  const bool named = text.starts_with(metric + ".");
  if (std::find(bounded_metrics.begin(), bounded_metrics.end(), metric) == bounded_metrics.end()) return std::nullopt;
  const size_t equals = text.find('='), begin = named ? metric.size() + 1 : 0;
  if (equals == std::string::npos) return std::nullopt;
  const auto percent = parse_percentile(std::string_view(text).substr(begin, equals - begin));
  const auto limit = parse_duration(std::string_view(text).substr(equals + 1));
  if (!percent || !limit || *limit <= 0) return std::nullopt;
  return LatencyBound{*percent, *limit, text, metric};
}

}  // namespace

std::optional<LatencyBound> latency_bound_from(const std::string& text) {
  auto bound = bound_from(text);
  return bound && bound->metric == "latency" ? bound : std::nullopt;
}

LatencyBound parse_latency_bound(const std::string& text) {
  if (auto bound = latency_bound_from(text)) return *bound;
  throw Error(ErrorKind::usage, fmt::format("invalid value '{}' for bound: expected a percentile and its limit, such as p99=15ms", text));
}

std::vector<LatencyBound> parse_latency_bounds(const std::string& text) {
  std::vector<LatencyBound> bounds;
  for (const std::string& part : split(text, ',')) {
    auto bound = bound_from(part);
    if (!bound)
      throw Error(ErrorKind::usage, fmt::format("invalid value '{}' for bound: expected a percentile and its limit, such as p99=15ms; of "
                                                "generation also ttft.p99=500ms, tpot.p99=50ms or itl.p99=100ms",
                                                part));
    const auto same = [&](const LatencyBound& other) { return other.metric == bound->metric; };
    if (std::any_of(bounds.begin(), bounds.end(), same))
      throw Error(ErrorKind::usage, fmt::format("invalid value '{}' for bound: expected one limit for {}", text, bound->metric));
    bounds.push_back(std::move(*bound));
  }
  return bounds;
}

std::vector<std::string> join_bounds(const std::vector<std::string>& parts) {
  std::vector<std::string> sets;
  std::set<std::string> metrics;
  for (const std::string& part : parts) {
    if (metrics.insert(metric_of_part(part)).second && !sets.empty()) {
      sets.back() += "," + part;
    } else {
      metrics = {metric_of_part(part)};
      sets.push_back(part);
    }
  }
  return sets;
}

BoundAnswer answer_of(const LatencyBound& bound, int64_t queries, int64_t missed) {
  const double share = bound.percent / 100;
  if (queries > 0 && early_stopping_met(share, queries, missed)) return BoundAnswer::held;
  return shown_to_be_over(share, queries, missed) ? BoundAnswer::missed : BoundAnswer::unknown;
}

int64_t fewest_to_hold(const LatencyBound& bound) { return early_stopping_min_within(bound.percent / 100, 0); }

int64_t queries_needed(const LatencyBound& bound, int64_t queries, int64_t missed) {
  constexpr int64_t most = 1'000'000'000;
  const double share = queries > 0 ? static_cast<double>(missed) / static_cast<double>(queries) : 0;
  const auto suffices = [&](int64_t count) {
    return answer_of(bound, count, std::llround(share * static_cast<double>(count))) != BoundAnswer::unknown;
  };
  int64_t low = queries, high = std::max<int64_t>(2 * queries, fewest_to_hold(bound));
  while (!suffices(high)) {
    if (high >= most) return 0;
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (suffices(middle) ? high : low) = middle;
  }
  return high - queries;
}

std::string undecided_words(const LatencyBound& bound, int64_t queries, int64_t missed) {
  const int64_t more = queries_needed(bound, queries, missed);
  const std::string seen = fmt::format("{} of {} queries missed the SLO {}", missed, queries, bound.text);
  if (more == 0) return fmt::format("{}: exactly as many as it allows, so the result is inconclusive", seen);
  return fmt::format("{}: too few to decide; about {} more may be enough", seen, more);
}

// A hair is taken off, so that 100 / (100 - 99.9) is 1000 and not 1001.
int64_t fewest_queries(const LatencyBound& bound) { return std::llround(std::ceil(100 / (100 - bound.percent) * (1 - 1e-9))); }

int64_t misses_allowed(const LatencyBound& bound, int64_t queries) {
  return queries - std::llround(std::ceil(bound.percent / 100 * static_cast<double>(queries) * (1 - 1e-9)));
}

}  // namespace deepgap
