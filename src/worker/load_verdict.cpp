#include "worker/load_verdict.h"

#include "base/quantity.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

double per_second(int64_t count, Nanoseconds length) { return static_cast<double>(count) * 1e9 / static_cast<double>(length); }

std::string ms_text(double ns) { return short_text(ns / 1e6, 4) + " ms"; }

// Prints enough digits to distinguish a latency from the SLO that it misses.
std::string beyond_text(double ns, const std::string& limit) {
  const std::string text = ms_text(ns);
  return text == limit ? short_text(ns / 1e6, 7) + " ms" : text;
}

// Never with an exponent.
std::string rate_text(double per_s) { return short_text(per_s, 4); }

std::string overload_reason(const OfferedLoad& load) {
  const std::string count = load.waiting == most_waiting_counted ? fmt::format("at least {}", load.waiting) : std::to_string(load.waiting);
  const double offered = per_second(load.offered, load.length), achieved = per_second(load.finished_in_time, load.length);
  const std::string backlog =
      fmt::format("at the end {} of {} queries were waiting, the oldest for {}", count, load.offered, format_duration(load.oldest_wait));
  if (load.issuer_was_late) {
    return fmt::format("deepgap could not issue {} queries a second: {}; lower the rate below {}, or issue larger batches",
                       rate_text(offered), backlog, rate_text(achieved));
  }
  return fmt::format(
      "overloaded: {}; {} queries a second were offered and {} answered. Lower the rate below that, or use more streams or a faster engine",
      backlog, rate_text(offered), rate_text(achieved));
}

std::string queue_reason(const OfferedLoad& load) {
  return fmt::format(
      "at the end the oldest query had waited for {}, and {} queries are too few to see whether the queue grows; measure longer "
      "(--duration), or "
      "lower the rate",
      format_duration(load.oldest_wait), load.offered);
}

// Returns a note if the harness, held back by the machine, missed the SLO.
std::string lateness_note(const OfferedLoad& load, const LatencyBound& bound) {
  constexpr double disturbing_share = 0.05;
  const double late = load.lateness.percentile(bound.percent);
  if (late <= disturbing_share * static_cast<double>(bound.limit)) return {};
  return fmt::format(" (queries were issued late, by {} at that percentile: something else kept the CPUs busy)", ms_text(late));
}

LoadVerdict broken(const OfferedLoad& load, const LatencyBound& bound, const LatencySummary& latencies) {
  const std::string limit = ms_text(static_cast<double>(bound.limit));
  if (latencies.shortest > static_cast<double>(bound.limit)) {
    // The fastest may have waited behind a queue from before the window, so it does not show that no load would do.
    return {Verdict::invalid, fmt::format("the SLO {} is missed: even the fastest query took {}; raise the SLO, make the engine faster "
                                          "(batch, threads, precision), or lower the load where queries waited for those before",
                                          bound.text, ms_text(latencies.shortest))};
  }
  constexpr const char* change = "lower the load, or use more streams";
  if (latencies.count < fewest_queries(bound) || !std::isfinite(latencies.at_bound)) {
    return {Verdict::invalid,
            fmt::format("{} of {} queries took longer than {}{}, more than the SLO {} allows of {}; {}", latencies.missed, latencies.count,
                        limit, latencies.shed > 0 ? fmt::format(" or were shed ({})", latencies.shed) : "", bound.text,
                        std::max(latencies.count, fewest_queries(bound)), change)};
  }
  return {Verdict::invalid, fmt::format("{} latency is {}, above the SLO of {}{}; {}", percentile_name(bound),
                                        beyond_text(latencies.at_bound, limit), limit, lateness_note(load, bound), change)};
}

LoadVerdict judge_by_rank(const OfferedLoad& load, const LatencyBound& bound, const LatencySummary& latencies) {
  if (!is_decided(bound, latencies.count, latencies.missed)) {
    return {Verdict::undecided, fmt::format("{} queries are too few to decide the SLO {}: it needs {}; measure longer "
                                            "(--duration, --budget)",
                                            latencies.count, bound.text, fewest_queries(bound))};
  }
  const auto limit = static_cast<double>(bound.limit);
  const bool misses = latencies.shortest > limit || latencies.count < fewest_queries(bound) || latencies.at_bound > limit;
  return misses ? broken(load, bound, latencies) : LoadVerdict();
}

LoadVerdict judge_bound(const OfferedLoad& load, const LatencyBound& bound, const LatencySummary& latencies) {
  switch (answer_of(bound, latencies.count, latencies.missed)) {
    case BoundAnswer::held:
      return {};
    case BoundAnswer::missed:
      return broken(load, bound, latencies);
    case BoundAnswer::unknown:
      break;
  }
  return {Verdict::undecided,
          undecided_words(bound, latencies.count, latencies.missed) + "; measure longer (--duration, --budget, --repeats)"};
}

}  // namespace

std::map<std::string, Estimate> load_estimates(const OfferedLoad& load) {
  if (load.length <= 0) return {};
  const auto lateness = [&](double ns) { return Estimate{ns / 1e3, {}, {}, load.lateness.count()}; };
  return {{"offered_rate", {per_second(load.offered, load.length), {}, {}, load.offered}},
          {"achieved_rate", {per_second(load.finished_in_time, load.length), {}, {}, load.finished_in_time}},
          {"issue_lateness_p50_us", lateness(load.lateness.percentile(50))},
          {"issue_lateness_p99_us", lateness(load.lateness.percentile(99))},
          {"issue_lateness_max_us", lateness(static_cast<double>(load.lateness.most()))}};
}

LoadVerdict judge_load(const OfferedLoad& load, const std::optional<LatencyBound>& bound, const LatencySummary& latencies, BoundRule rule) {
  if (load.length > 0 && load.offered == 0) {
    return {Verdict::invalid,
            fmt::format("no query was due within {}; raise the rate or measure longer (--duration)", format_duration(load.length))};
  }
  if (load.waiting > 0) return {Verdict::invalid, overload_reason(load)};
  if (bound) return rule == BoundRule::shown ? judge_bound(load, *bound, latencies) : judge_by_rank(load, *bound, latencies);
  if (load.has_long_wait()) return {Verdict::undecided, queue_reason(load)};
  return {};
}

}  // namespace deepgap
