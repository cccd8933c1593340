#include "analysis/cost/cost.h"

#include "analysis/combine_repeats.h"
#include "analysis/metric.h"
#include "stats/interval.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace deepgap {
namespace {

constexpr double seconds_per_hour = 3600, joules_per_kwh = 3.6e6;

const Estimate* find(const std::map<std::string, Estimate>& known, const char* id) {
  const auto found = known.find(id);
  return found == known.end() ? nullptr : &found->second;
}

Estimate scaled(Estimate estimate, double factor) {
  estimate.value *= factor;
  if (estimate.low) *estimate.low *= factor;
  if (estimate.high) *estimate.high *= factor;
  return estimate;
}

double low(const Estimate& e) { return e.low.value_or(e.value); }
double high(const Estimate& e) { return e.high.value_or(e.value); }

// Ends of a sum and of a quotient are those of its parts at their worst: throughput and power of one run are no independent numbers.
Estimate with_ends(double value, double least, double most, const Estimate& a, const Estimate& b) {
  Estimate estimate{value, {}, {}, std::max(a.n, b.n)};
  if ((a.low && a.high) || (b.low && b.high)) {
    estimate.low = least;
    estimate.high = most;
  }
  return estimate;
}

Estimate sum(const Estimate& a, const Estimate& b) { return with_ends(a.value + b.value, low(a) + low(b), high(a) + high(b), a, b); }

// Divides positive values; nullopt where the divisor is not positive.
std::optional<Estimate> quotient(const Estimate& a, const Estimate& b) {
  if (!(b.value > 0)) return std::nullopt;
  Estimate estimate = with_ends(a.value / b.value, low(a) / high(b), low(b) > 0 ? high(a) / low(b) : 0, a, b);
  if (estimate.low && !(low(b) > 0)) estimate.low = estimate.high = std::nullopt;  // anything could be beyond
  return estimate;
}

double devices_of(const Point& point) { return static_cast<double>(point.placement.devices.size()); }

// Returns the watts of everything that the Price is about; nullopt: neither measured nor given.
std::optional<Estimate> power_of(const Price& price, const Point& point, const std::map<std::string, Estimate>& known) {
  // The probes read the Point's devices alone; a whole machine takes more than these.
  const Estimate* measured = find(known, "power_w");
  if (measured != nullptr && !price.of_machine) return *measured;
  if (!price.power_w) return std::nullopt;
  return Estimate{*price.power_w * (price.of_machine ? 1 : devices_of(point)), {}, {}, 0};
}

double share_of_price(const Price& price, const Point& point) {
  return price.of_machine ? 1 : devices_of(point) / static_cast<double>(price.devices);
}

// Returns the cost of a million of what a rate counts.
std::optional<Estimate> cost_per_million(const Estimate& hourly, const std::map<std::string, Estimate>& known, const char* rate) {
  const Estimate* per_s = find(known, rate);
  return per_s == nullptr ? std::nullopt : quotient(scaled(hourly, 1e6 / seconds_per_hour), *per_s);
}

std::string nameless(const Point& point) {
  return fmt::format("no price for {} of {}: its records do not name the device", point.backend, point.model);
}

// Returns the kWh that were taken from the grid for 1000 items.
std::optional<Estimate> kwh_per_1000_items(const Prices& prices, const std::map<std::string, Estimate>& known) {
  const Estimate* joules = find(known, "energy_j_per_item");
  if (joules == nullptr || !prices.electricity) return std::nullopt;
  return scaled(*joules, 1000 * prices.electricity->pue / joules_per_kwh);
}

void put(std::map<std::string, Estimate>& costs, const char* id, const std::optional<Estimate>& value) {
  if (value) costs.emplace(id, *value);
}

// Returns the estimate as moments, with the degrees of freedom of the metric whose scatter it has.
MetricSummary summary_of(const Estimate& estimate, const PointSummary& point) {
  const MetricSummary* throughput = point.find("throughput");
  MetricSummary summary{estimate, moments_of(estimate), throughput != nullptr && throughput->over_repeats};
  if (throughput == nullptr || !estimate.low || !(throughput->mean.degrees_of_freedom > 0)) return summary;
  const double half = half_width_of(estimate) / student_factor(throughput->mean.degrees_of_freedom);
  summary.mean.variance_of_mean = half * half;
  summary.mean.degrees_of_freedom = throughput->mean.degrees_of_freedom;
  return summary;
}

// A Record does not have the prices.
std::optional<Estimate> known_from_prices(const Record& /*record*/) { return std::nullopt; }

Metric from_prices(const char* id, const char* unit, const char* describe) {
  return {id, unit, Better::lower, describe, known_from_prices};
}

const std::vector<Metric>& cost_metrics() {
  static const std::vector<Metric> specs{
      from_prices("cost_per_hour", "currency/h",
                  "price of the point's devices by the hour, from --prices; for bought ones the price over years and utilization, with "
                  "electricity"),
      {.id = "cost_per_1000_items",
       .unit = "currency",
       .better = Better::lower,
       .describe = "cost_per_hour over the throughput, for 1000 items",
       .compute = known_from_prices,
       .column = {140},
       .title = "Cost of 1000 items",
       .per = "for 1000 items"},
      from_prices("cost_per_1000_correct", "currency", "cost_per_1000_items over the share of answers that are right (top-1)"),
      in_column({150}, from_prices("cost_per_million_output_tokens", "currency",
                                   "cost_per_hour over output_tokens_per_s, for a million tokens: answers carry the whole cost")),
      in_column({160}, from_prices("cost_per_million_input_tokens", "currency",
                                   "cost_per_hour over input_tokens_per_s, for a million tokens: prompts carry the whole cost")),
      from_prices("cost_of_run", "currency", "cost_per_hour over the measured window"),
      from_prices("energy_cost_per_1000_items", "currency", "measured energy of 1000 items, times PUE and the price of a kWh"),
      from_prices("co2_g_per_1000_items", "g", "measured energy of 1000 items, times PUE and the grid's grams of CO2 for a kWh"),
  };
  return specs;
}

const bool registered = register_metrics(cost_metrics());

}  // namespace

std::vector<std::string> cost_metric_ids() {
  std::vector<std::string> ids;
  for (const Metric& spec : cost_metrics()) ids.push_back(spec.id);
  return ids;
}

HourlyCost cost_per_hour(const Prices& prices, const Point& point, const Identity& identity, const std::map<std::string, Estimate>& known) {
  const Price* price = find_price(prices, identity);
  if (price == nullptr) {
    if (identity.device.empty()) return {{}, nameless(point)};
    return {{}, fmt::format("no price for '{}': add [[price]] with device = \"{}\"", identity.device, short_device_name(identity.device))};
  }
  const Estimate fixed{price->per_hour * share_of_price(*price, point), {}, {}, 0};
  if (!price->bought) return {fixed, {}};
  if (!prices.electricity)
    return {fixed, fmt::format("'{}' is bought, but there is no [electricity]: its cost excludes electricity", price->name)};
  const auto power = power_of(*price, point, known);
  if (!power) {
    return {{}, fmt::format("no power was measured for '{}', which is bought: add power_w to its [[price]]", identity.device)};
  }
  return {sum(fixed, scaled(*power, prices.electricity->pue / 1000 * prices.electricity->per_kwh)), {}};
}

std::map<std::string, Estimate> costs_of(const Prices& prices, const Point& point, const Identity& identity,
                                         const std::map<std::string, Estimate>& known) {
  std::map<std::string, Estimate> costs;
  const HourlyCost hourly = cost_per_hour(prices, point, identity, known);
  if (const Estimate* throughput = find(known, "throughput"); hourly.value && throughput != nullptr) {
    const auto per_1000 = quotient(scaled(*hourly.value, 1000 / seconds_per_hour), *throughput);
    put(costs, "cost_per_1000_items", per_1000);
    if (const Estimate* accuracy = find(known, "accuracy_top1"); accuracy != nullptr && per_1000)
      put(costs, "cost_per_1000_correct", quotient(*per_1000, *accuracy));
  }
  put(costs, "cost_per_hour", hourly.value);
  if (hourly.value) {
    put(costs, "cost_per_million_output_tokens", cost_per_million(*hourly.value, known, "output_tokens_per_s"));
    put(costs, "cost_per_million_input_tokens", cost_per_million(*hourly.value, known, "input_tokens_per_s"));
  }
  if (const Estimate* seconds = find(known, "steady_s"); hourly.value && seconds != nullptr)
    put(costs, "cost_of_run", scaled(*hourly.value, seconds->value / seconds_per_hour));
  if (const auto kwh = kwh_per_1000_items(prices, known)) {
    costs.emplace("energy_cost_per_1000_items", scaled(*kwh, prices.electricity->per_kwh));
    if (prices.electricity->co2_g_per_kwh) costs.emplace("co2_g_per_1000_items", scaled(*kwh, *prices.electricity->co2_g_per_kwh));
  }
  return costs;
}

std::vector<std::string> add_costs(const Prices& prices, std::vector<PointSummary>& points) {
  std::set<std::string> missing;
  if (prices.empty()) return {};
  for (PointSummary& point : points) {
    if (point.metrics.empty()) continue;
    std::map<std::string, Estimate> known;
    for (const auto& [id, metric] : point.metrics) known.emplace(id, metric.estimate);
    const HourlyCost hourly = cost_per_hour(prices, point.point, point.identity, known);
    if (!hourly.missing.empty()) missing.insert(hourly.missing);
    for (const auto& [id, estimate] : costs_of(prices, point.point, point.identity, known)) {
      point.metrics[id] = summary_of(estimate, point);
      point.currency = prices.currency;
    }
  }
  return {missing.begin(), missing.end()};
}

}  // namespace deepgap
