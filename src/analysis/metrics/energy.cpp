// Power and energy of the point's devices: of exactly the measured window, and what they would be in the long run at that load, each with
// its own interval. Where a source counts joules, by that counter; else by the integral of sampled watts. Without either there is no value:
// never zero.
#include "analysis/energy.h"
#include "analysis/metric.h"
#include "analysis/steady.h"
#include "analysis/throughput.h"
#include "record/tenant_set.h"
#include "stats/correlated.h"

#include <algorithm>

namespace deepgap {
namespace {

double seconds_of(const Window& window) { return static_cast<double>(window.end - window.begin) / 1e9; }

Estimate estimate(double value, double half_width, int64_t n) {
  if (half_width <= 0) return {value, {}, {}, n};
  return {value, value - half_width, value + half_width, n};
}

double half_width_of(const Estimate& e) { return e.low && e.high ? (*e.high - *e.low) / 2 : 0; }

const Window* steady_of(const Record& record) {
  const Window* steady = find_window(record, "steady");
  return record.outcome != Outcome::ok || steady == nullptr || steady->end <= steady->begin ? nullptr : steady;
}

// The energy of a window by one source, and that of its slices.
struct Source {
  Energy energy;
  std::vector<double> slices;  // may be empty
};

std::optional<Source> counted(const Record& record, const Window& window) {
  const auto energy = counted_energy(record, window);
  return energy ? std::optional(Source{*energy, counted_slices(record, window)}) : std::nullopt;
}

std::optional<Source> sampled(const Record& record, const Window& window) {
  const auto energy = sampled_energy(record, window);
  return energy ? std::optional(Source{*energy, sampled_slices(record, window)}) : std::nullopt;
}

std::optional<Source> best(const Record& record, const Window& window) {
  auto by_counter = counted(record, window);
  if (!by_counter) return sampled(record, window);
  // A window of 80 ms by a counter that steps every 100 ms is zero joules or twice the truth; single power readings are even worse.
  return by_counter->energy.half_width < by_counter->energy.joules / 2 ? by_counter : std::nullopt;
}

std::optional<Estimate> energy_of_window(const Record& record) {
  const Window* steady = steady_of(record);
  if (steady == nullptr) return std::nullopt;
  const auto source = best(record, *steady);
  return source ? std::optional(estimate(source->energy.joules, source->energy.half_width, 1)) : std::nullopt;
}

Estimate divided(const Estimate& e, double by, int64_t n) { return estimate(e.value / by, half_width_of(e) / by, n); }

std::optional<Estimate> power(const Record& record) {
  const auto energy = energy_of_window(record);
  return energy ? std::optional(divided(*energy, seconds_of(*steady_of(record)), 1)) : std::nullopt;
}

// Returns what a mean over a longer time may be beside the window's: the scatter of its slices, correlation allowed for, and the error of
// reading the whole. Without slices there is a value alone.
std::optional<Estimate> long_run(const Source& source, const std::vector<double>& per) {
  double divisor = 0;
  RatioSeries slices;
  for (size_t i = 0; i < per.size(); ++i) {
    divisor += per[i];
    if (i < source.slices.size()) slices.add(source.slices[i], per[i]);
  }
  if (!(divisor > 0)) return std::nullopt;
  const double value = source.energy.joules / divisor;
  const auto scatter = slices.estimate();
  if (!scatter) return Estimate{value, {}, {}, 1};
  return estimate(value, both(scatter->interval().half_width(), source.energy.half_width / divisor),
                  static_cast<int64_t>(source.slices.size()));
}

std::optional<Estimate> long_run_watts(const Source& source, const Window& window) {
  const size_t slices = std::max<size_t>(source.slices.size(), 1);
  return long_run(source, std::vector<double>(slices, seconds_of(window) / static_cast<double>(slices)));
}

std::optional<Estimate> long_run_power(const Record& record) {
  const Window* steady = steady_of(record);
  const auto source = steady == nullptr ? std::nullopt : best(record, *steady);
  return source ? long_run_watts(*source, *steady) : std::nullopt;
}

// Prefers sampled power: at rest it scatters little, while the counter resolves only a tenth of a window of one second.
std::optional<Estimate> idle_power(const Record& record) {
  const Window* idle = find_window(record, "idle");
  if (idle == nullptr || idle->end <= idle->begin) return std::nullopt;
  auto source = sampled(record, *idle);
  if (!source) source = counted(record, *idle);
  if (!source) return std::nullopt;
  const auto mean = long_run_watts(*source, *idle);
  if (mean && mean->low) return mean;
  return estimate(source->energy.joules / seconds_of(*idle), source->energy.half_width / seconds_of(*idle), 1);
}

// Items that were finished in the window; nullopt for a tenant, since the device's energy is that of all of them.
std::optional<Estimate> items_of(const Record& record) {
  const Window* steady = steady_of(record);
  if (steady == nullptr || tenant_place(record.point)) return std::nullopt;
  const auto throughput = steady_throughput(record);
  if (!throughput || throughput->value <= 0) return std::nullopt;
  return Estimate{throughput->value * seconds_of(*steady), {}, {}, throughput->n};
}

// They were counted: of a window that is over they have no error.
std::optional<Estimate> per_item(const Record& record, const std::optional<Estimate>& joules) {
  const auto items = items_of(record);
  return items && joules ? std::optional(divided(*joules, items->value, items->n)) : std::nullopt;
}

std::optional<Estimate> sampled_per_item(const Record& record) {
  const Window* steady = steady_of(record);
  const auto energy = steady == nullptr ? std::nullopt : sampled_energy(record, *steady);
  return energy ? per_item(record, estimate(energy->joules, energy->half_width, 1)) : std::nullopt;
}

std::optional<Estimate> above_idle_per_item(const Record& record) {
  const auto busy = energy_of_window(record), idle = idle_power(record);
  if (!busy || !idle) return std::nullopt;
  const double seconds = seconds_of(*steady_of(record));
  return per_item(record, estimate(busy->value - idle->value * seconds, both(half_width_of(*busy), half_width_of(*idle) * seconds), 1));
}

// A query's items are spread over the time from its begin to its end, so that a slice that cuts it gets its part.
std::vector<double> items_of_slices(const Record& record, const Window& window, size_t count) {
  std::vector<double> items(count, 0);
  const double length = static_cast<double>(window.end - window.begin) / static_cast<double>(count);
  for (const Timing& timing : record.timings) {
    if (timing.status != Status::ok) continue;
    const double begin = std::max(static_cast<double>(timing.begin - window.begin), 0.0) / length;
    const double end =
        std::min(std::max(static_cast<double>(timing.end - window.begin) / length, begin + 1e-9), static_cast<double>(count));
    for (auto slice = static_cast<size_t>(begin); slice < count && static_cast<double>(slice) < end; ++slice) {
      const double from = std::max(begin, static_cast<double>(slice)), to = std::min(end, static_cast<double>(slice + 1));
      items[slice] += timing.samples * (to - from) / (end - begin);
    }
  }
  return items;
}

// Power and throughput go up and down together, so the ratio of both is what is followed from slice to slice.
std::optional<Estimate> long_run_per_item(const Record& record) {
  const auto items = items_of(record);
  if (!items) return std::nullopt;
  const Window& window = *steady_of(record);
  const auto source = best(record, window);
  if (!source) return std::nullopt;
  if (source->slices.empty() || record.timings.empty() || record.timings_dropped > 0)
    return Estimate{source->energy.joules / items->value, {}, {}, items->n};
  std::vector<double> of_slices = items_of_slices(record, window, source->slices.size());
  double sum = 0;
  for (const double part : of_slices) sum += part;
  if (sum > 0) {
    for (double& part : of_slices) part *= items->value / sum;  // those that began before the window are wholly of it
  }
  return long_run(*source, of_slices);
}

std::optional<Estimate> items_per_watt(const Record& record) {
  const auto joules = per_item(record, energy_of_window(record));
  if (!joules || joules->value <= 0) return std::nullopt;
  Estimate inverse{1 / joules->value, {}, {}, joules->n};
  if (joules->low && joules->high && *joules->low > 0) {
    inverse.low = 1 / *joules->high;
    inverse.high = 1 / *joules->low;
  }
  return inverse;
}

const bool registered = register_metrics({
    {"energy_j", "J", Better::neither,
     "energy of the point's devices over exactly the measured window: by energy counter where there is one, else sampled power, "
     "integrated; "
     "the interval is the error of reading it",
     energy_of_window},
    {"power_w", "W", Better::lower, "energy_j over the length of the window: its own mean power", power},
    {"power_long_run_w", "W", Better::lower,
     "the mean power that a longer window would have: the value is the window's, the interval holds the scatter of its slices, correlation "
     "allowed for, and the error of reading",
     long_run_power},
    {"idle_power_w", "W", Better::lower,
     "mean sampled power before the model was loaded, with the interval of a mean over a longer time; by the energy counter where power is "
     "not sampled",
     idle_power},
    {.id = "energy_j_per_item",
     .unit = "J",
     .better = Better::lower,
     .describe = "energy_j divided by the items finished in the window; both are the window's own, so that the interval is the error of "
                 "reading alone",
     .compute = [](const Record& r) { return per_item(r, energy_of_window(r)); },
     .title = "Energy",
     .per = "an item"},
    {"energy_long_run_j_per_item", "J", Better::lower,
     "joules an item of a longer window: the value is the window's, the interval holds the scatter of energy from slice to slice and the "
     "error of reading",
     long_run_per_item},
    {"energy_sampled_j_per_item", "J", Better::lower,
     "energy_j_per_item by sampled power joined by straight lines, to compare with the counter; the interval is for what lay between "
     "readings",
     sampled_per_item},
    {"energy_above_idle_j_per_item", "J", Better::lower,
     "the energy of the window above what idle_power_w would have taken, divided by its items", above_idle_per_item},
    in_column({110}, {"items_per_s_per_w", "items/s/W", Better::higher, "one over energy_j_per_item: items a joule", items_per_watt}),
});

}  // namespace
}  // namespace deepgap
