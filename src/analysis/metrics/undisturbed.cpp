// The engine's speed while nothing disturbed it, and the share of the window that was undisturbed.
#include "analysis/undisturbed.h"
#include "analysis/metric.h"

namespace deepgap {
namespace {

std::optional<Estimate> share(const Record& record) {
  const auto found = find_undisturbed(record).share;
  return found ? std::optional(Estimate{*found, {}, {}, 1}) : std::nullopt;
}

std::optional<Estimate> throughput(const Record& record) {
  const auto found = find_undisturbed(record).values;
  return found ? std::optional(found->throughput) : std::nullopt;
}

std::optional<Estimate> latency_p50(const Record& record) {
  const auto found = find_undisturbed(record).values;
  return found ? std::optional(found->latency_p50_ms) : std::nullopt;
}

const bool registered = register_metrics({
    {"undisturbed_share", "1", Better::higher,
     "fraction of the measured window in which no thread of the worker waited for a CPU and no other process or machine used the CPUs",
     share},
    {"throughput_undisturbed", "items/s", Better::higher,
     "throughput over the undisturbed slices of the measured window; queries that a disturbance cut short are allowed for", throughput},
    {"latency_p50_undisturbed_ms", "ms", Better::lower, "median latency over the undisturbed slices of the measured window", latency_p50},
});

}  // namespace
}  // namespace deepgap
