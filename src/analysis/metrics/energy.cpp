// Power and energy over exactly the measured window. Where a source counts joules, that counter; else the integral of sampled watts.
// Sources are series named "energy" (counter, J) or "power" (W), with a domain behind a dot where a probe has several that do not
// overlap ("energy.package-0"); they are added. Without such a series there is no value: never zero.
#include "analysis/metric.h"
#include "analysis/steady.h"
#include "analysis/throughput.h"

namespace deepgap {
namespace {

bool is_named(const Series& series, std::string_view name) {
  return series.name == name || (series.name.rfind(name, 0) == 0 && series.name.size() > name.size() && series.name[name.size()] == '.');
}

std::optional<double> energy_from_counters(const Record& record, const Window& steady) {
  std::optional<double> total;
  for (const Series& series : record.series) {
    if (!is_named(series, "energy") || series.unit != "J") continue;
    const auto joules = counter_growth(series, steady);
    if (!joules) return std::nullopt;  // a sum that lacks one domain is no sum
    total = total.value_or(0) + *joules;
  }
  return total;
}

std::optional<double> energy_from_power(const Record& record, const Window& steady) {
  std::optional<double> total;
  for (const Series& series : record.series) {
    if (!is_named(series, "power") || series.unit != "W") continue;
    const auto watts = time_average(series, steady);
    if (!watts) return std::nullopt;
    total = total.value_or(0) + *watts * static_cast<double>(steady.end - steady.begin) / 1e9;
  }
  return total;
}

std::optional<double> energy_j(const Record& record) {
  const Window* steady = find_window(record, "steady");
  if (record.outcome != Outcome::ok || steady == nullptr || steady->end <= steady->begin) return std::nullopt;
  const auto counted = energy_from_counters(record, *steady);
  return counted ? counted : energy_from_power(record, *steady);
}

std::optional<double> power_w(const Record& record) {
  const auto joules = energy_j(record);
  if (!joules) return std::nullopt;
  return *joules / *window_seconds(record, "steady");
}

std::optional<Estimate> power(const Record& record) {
  const auto watts = power_w(record);
  if (!watts) return std::nullopt;
  return Estimate{*watts, {}, {}, 1};
}

std::optional<Estimate> energy_per_item(const Record& record) {
  const auto watts = power_w(record);
  const auto throughput = steady_throughput(record);
  if (!watts || !throughput || throughput->value <= 0) return std::nullopt;
  return Estimate{*watts / throughput->value, {}, {}, throughput->n};
}

std::optional<Estimate> items_per_watt(const Record& record) {
  const auto watts = power_w(record);
  const auto throughput = steady_throughput(record);
  if (!watts || !throughput || *watts <= 0) return std::nullopt;
  return Estimate{throughput->value / *watts, {}, {}, throughput->n};
}

const bool registered = register_metrics({
    {"power_w", "W", Better::lower,
     "mean power over the measured window: energy counter where there is one, else sampled power, integrated", power},
    {"energy_j_per_item", "J", Better::lower, "energy over the measured window divided by the items finished in it", energy_per_item},
    {"items_per_s_per_w", "items/s/W", Better::higher, "throughput divided by mean power", items_per_watt},
});

}  // namespace
}  // namespace deepgap
