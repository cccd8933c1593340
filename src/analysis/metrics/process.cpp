// The worker process's use of the machine while it was measured, from the probe `proc`.
#include "analysis/metric.h"
#include "analysis/steady.h"

#include <algorithm>

namespace deepgap {
namespace {

std::optional<double> growth(const Record& record, std::string_view name) {
  const Window* steady = find_window(record, "steady");
  const Series* series = find_series(record, "proc", name);
  if (record.outcome != Outcome::ok || steady == nullptr || series == nullptr) return std::nullopt;
  return counter_growth(*series, *steady);
}

std::optional<Estimate> per_second(const Record& record, std::string_view name) {
  const auto count = growth(record, name);
  const auto seconds = window_seconds(record, "steady");
  if (!count || !seconds) return std::nullopt;
  return Estimate{*count / *seconds, {}, {}, 1};
}

std::optional<Estimate> utilization(const Record& record) {
  auto used = per_second(record, "cpu_time");
  if (!used || record.point.threads <= 0) return std::nullopt;
  used->value /= record.point.threads;
  return used;
}

// CPU time that went to neither this process nor idleness nor the host's other guests.
std::optional<Estimate> used_by_others(const Record& record) {
  auto busy = per_second(record, "machine_busy");
  const auto own = per_second(record, "cpu_time");
  if (!busy || !own) return std::nullopt;
  // Ticks of 10 ms on one side, microseconds on the other: the difference may come out a little below zero.
  busy->value = std::max(0.0, busy->value - own->value);
  return busy;
}

const bool registered = register_metrics({
    {"cpus_used", "1", Better::neither, "CPU time of the worker process in the measured window, divided by the window's length",
     [](const Record& r) { return per_second(r, "cpu_time"); }},
    {"cpu_utilization", "1", Better::neither, "cpus_used divided by the engine's threads", utilization},
    {"cpus_used_by_others", "1", Better::lower,
     "CPU time of everything else on the machine in the measured window, divided by the window's length", used_by_others},
    {"cpus_stolen", "1", Better::lower, "CPU time that the host of this virtual machine gave to others, divided by the window's length",
     [](const Record& r) { return per_second(r, "machine_steal"); }},
    {"context_switches_per_s", "1/s", Better::lower,
     "times a second that a thread of the worker gave up or lost its CPU in the measured window",
     [](const Record& r) { return per_second(r, "context_switches"); }},
    {"involuntary_switches_per_s", "1/s", Better::lower, "times a second that a thread of the worker lost its CPU to another",
     [](const Record& r) { return per_second(r, "involuntary_switches"); }},
    {"major_faults_per_s", "1/s", Better::lower, "page faults a second that had to read from disk",
     [](const Record& r) { return per_second(r, "major_faults"); }},
});

}  // namespace
}  // namespace deepgap
