#include "worker/load_verdict.h"

#include "base/text.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

double per_second(int64_t count, Nanoseconds length) { return static_cast<double>(count) * 1e9 / static_cast<double>(length); }

// With digits enough to tell a broken bound from a held one.
std::string ms_text(double ns) { return fmt::format("{:.5g} ms", ns / 1e6); }

std::string overload_reason(const OfferedLoad& load) {
  const std::string count = load.waiting == most_waiting_counted ? fmt::format("at least {}", load.waiting) : std::to_string(load.waiting);
  const double offered = per_second(load.offered, load.length), achieved = per_second(load.finished_in_time, load.length);
  const std::string backlog =
      fmt::format("at the end {} of {} queries were waiting, the oldest for {}", count, load.offered, format_duration(load.oldest_wait));
  if (load.issuer_was_late) {
    return fmt::format("deepgap could not issue {:.4g} queries a second: {}; lower the rate below {:.4g}, or issue larger batches", offered,
                       backlog, achieved);
  }
  return fmt::format(
      "overloaded: {}; {:.4g} queries a second were offered and {:.4g} answered; lower the rate below that, or make room "
      "with more streams or a faster engine",
      backlog, offered, achieved);
}

// Whether it was the harness, held back by the machine, that broke the bound.
std::string lateness_note(const OfferedLoad& load, const LatencyBound& bound) {
  constexpr double disturbing_share = 0.05;
  const double late = load.lateness.percentile(bound.percent);
  if (late <= disturbing_share * static_cast<double>(bound.limit)) return {};
  return fmt::format(" (queries were issued late, by {} at that percentile: something else kept the CPUs busy)", ms_text(late));
}

std::string bound_reason(const OfferedLoad& load, const LatencyBound& bound, const LatencySummary& latencies) {
  const int64_t fewest = fewest_queries(bound);
  const std::string name = percentile_name(bound);
  const std::string limit = ms_text(static_cast<double>(bound.limit));
  if (latencies.count < fewest) {
    return fmt::format("{} queries are too few for the bound {}: it takes {}; measure longer (--duration)", latencies.count, bound.text,
                       fewest);
  }
  if (latencies.shortest > static_cast<double>(bound.limit)) {
    return fmt::format(
        "the bound {} cannot be held: even the fastest query took {}; raise the bound, or make the engine faster (batch, "
        "threads, precision)",
        bound.text, ms_text(latencies.shortest));
  }
  if (latencies.at_bound > static_cast<double>(bound.limit)) {
    return fmt::format("{} latency is {}, above the bound of {}{}; lower the load (rate, clients, batch), or make room with more streams",
                       name, ms_text(latencies.at_bound), limit, lateness_note(load, bound));
  }
  return {};
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

std::string why_invalid(const OfferedLoad& load, const std::optional<LatencyBound>& bound, const LatencySummary& latencies) {
  if (load.length > 0 && load.offered == 0) {
    return fmt::format("no query was due within {}; raise the rate or measure longer (--duration)", format_duration(load.length));
  }
  if (load.waiting > 0) return overload_reason(load);
  return bound ? bound_reason(load, *bound, latencies) : std::string();
}

}  // namespace deepgap
