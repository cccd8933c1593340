// Power and energy of the Point's devices over exactly the measured window. Where a source counts joules, that counter; else the integral
// of sampled watts. Without either there is no value: never zero.
#include "analysis/energy.h"
#include "analysis/metric.h"
#include "analysis/steady.h"
#include "analysis/throughput.h"
#include "record/tenant_set.h"

namespace deepgap {
namespace {

Estimate estimate(double value, double half_width, int64_t n) {
  if (half_width <= 0) return {value, {}, {}, n};
  return {value, value - half_width, value + half_width, n};
}

double half_width_of(const Estimate& e) { return e.low && e.high ? (*e.high - *e.low) / 2 : 0; }

const Window* steady_of(const Record& record) {
  const Window* steady = find_window(record, "steady");
  return record.outcome != Outcome::ok || steady == nullptr || steady->end <= steady->begin ? nullptr : steady;
}

// A counter knows the energy of the window; how much that scatters from window to window, only power readings tell.
std::optional<Energy> best_energy(const Record& record, const Window& window) {
  auto counted = counted_energy(record, window);
  const auto sampled = sampled_energy(record, window);
  if (!counted) return sampled;
  if (sampled && sampled->joules > 0) {
    counted->half_width = both(counted->half_width, counted->joules * sampled->half_width / sampled->joules);
  }
  return counted;
}

std::optional<Estimate> watts(const std::optional<Energy>& energy, const Window& window) {
  if (!energy) return std::nullopt;
  const double seconds = static_cast<double>(window.end - window.begin) / 1e9;
  return estimate(energy->joules / seconds, energy->half_width / seconds, 1);
}

std::optional<Estimate> power(const Record& record) {
  const Window* steady = steady_of(record);
  return steady == nullptr ? std::nullopt : watts(best_energy(record, *steady), *steady);
}

// Of a window of a second the counter resolves a tenth; at rest the readings of power scatter less.
std::optional<Estimate> idle_power(const Record& record) {
  const Window* idle = find_window(record, "idle");
  if (idle == nullptr || idle->end <= idle->begin) return std::nullopt;
  auto energy = sampled_energy(record, *idle);
  return watts(energy ? energy : counted_energy(record, *idle), *idle);
}

std::optional<Estimate> per_item(const Record& record, const std::optional<Estimate>& watts) {
  if (tenant_place(record.point)) return std::nullopt;  // the device's energy is that of all tenants
  const auto throughput = steady_throughput(record);
  if (!watts || !throughput || throughput->value <= 0) return std::nullopt;
  const double joules = watts->value / throughput->value;
  const double of_power = half_width_of(*watts) / throughput->value;
  const double of_time = joules * half_width_of(*throughput) / throughput->value;
  return estimate(joules, both(of_power, of_time), throughput->n);
}

std::optional<Estimate> sampled_per_item(const Record& record) {
  const Window* steady = steady_of(record);
  return steady == nullptr ? std::nullopt : per_item(record, watts(sampled_energy(record, *steady), *steady));
}

std::optional<Estimate> above_idle_per_item(const Record& record) {
  const auto busy = power(record), idle = idle_power(record);
  if (!busy || !idle) return std::nullopt;
  return per_item(record, estimate(busy->value - idle->value, both(half_width_of(*busy), half_width_of(*idle)), 1));
}

std::optional<Estimate> items_per_watt(const Record& record) {
  const auto joules = per_item(record, power(record));
  if (!joules || joules->value <= 0) return std::nullopt;
  Estimate inverse{1 / joules->value, {}, {}, joules->n};
  if (joules->low && joules->high && *joules->low > 0) {
    inverse.low = 1 / *joules->high;
    inverse.high = 1 / *joules->low;
  }
  return inverse;
}

const bool registered = register_metrics({
    {"power_w", "W", Better::lower,
     "mean power of the Point's devices over the measured window: energy counter where there is one, else sampled power, integrated",
     power},
    {"idle_power_w", "W", Better::lower, "mean sampled power before the model was loaded; by the energy counter where power is not sampled",
     idle_power},
    {"energy_j_per_item", "J", Better::lower,
     "energy over the measured window divided by the items finished in it; the interval holds the counter's steps at both edges, the "
     "scatter of the power and that of the throughput",
     [](const Record& r) { return per_item(r, power(r)); }},
    {"energy_sampled_j_per_item", "J", Better::lower, "the same by sampled power joined by straight lines, to compare with the counter",
     sampled_per_item},
    {"energy_above_idle_j_per_item", "J", Better::lower, "the power above idle_power_w, divided by the throughput", above_idle_per_item},
    {"items_per_s_per_w", "items/s/W", Better::higher, "throughput divided by mean power: items a joule", items_per_watt},
});

}  // namespace
}  // namespace deepgap
