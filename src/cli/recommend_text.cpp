#include "cli/recommend_text.h"

#include "analysis/cost/prices.h"
#include "analysis/metric.h"
#include "analysis/ratio_text.h"
#include "analysis/words.h"
#include "base/dump_json.h"
#include "base/quantity.h"
#include "record/point_option.h"
#include "record/record_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

using Json = nlohmann::ordered_json;

std::string ms(double seconds) { return format_significant(seconds * 1e3) + " ms"; }

std::string percentile_of(const Demand& demand) { return demand.bounds.empty() ? "p99" : percentile_name(demand.bounds.front()); }

double kwh_per_month(const Candidate& candidate, double rate) {
  return *candidate.energy_j_per_item * rate * hours_per_month * 3600 / 3.6e6;
}

// "2 x H200 · libtorch_cuda · fp16 · batch 64 · streams=2"
std::string choice_label(const Candidate& candidate, const Demand& demand) {
  const Point& point = candidate.point->point;
  std::string label = way_label(*candidate.point);
  if (point.scenario != Point().scenario) label += " \u00b7 " + point.scenario;
  if (const std::string streams = option_of(point, "streams"); !streams.empty()) label += " \u00b7 streams " + streams;
  if (const std::string largest = option_of(point, "max_batch"); !largest.empty()) label += " \u00b7 max_batch " + largest;
  const int64_t copies = candidate.devices / static_cast<int64_t>(point.placement.devices.size());
  return demand.rate ? fmt::format("{} of {}", format_count(copies), label) : label;
}

// Returns the cost of a million tokens of answers ("output_tokens") or prompts ("input_tokens") at the demanded rate; nullopt if none.
std::optional<double> cost_per_million(const Candidate& candidate, const char* tokens_of_a_request) {
  const MetricSummary* tokens = candidate.point->find(tokens_of_a_request);
  if (!candidate.cost_per_1000 || tokens == nullptr || !(tokens->estimate.value > 0)) return std::nullopt;
  const double least = tokens->estimate.low.value_or(tokens->estimate.value);
  return *candidate.cost_per_1000 * 1000 / (least > 0 ? least : tokens->estimate.value);
}

// Says what the capacity rests on, where it is less than repeats.
const char* basis_words(const Candidate& candidate) {
  if (candidate.basis == Basis::estimated) return " (estimated)";
  const MetricSummary* throughput = candidate.point->find("throughput");
  return throughput != nullptr && throughput->repeats.size() == 1 ? " (single run)" : "";
}

std::vector<std::string> facts_of(const Candidate& candidate, const Demand& demand, const std::string& currency) {
  std::vector<std::string> facts;
  const double rate = demand.rate.value_or(candidate.capacity);
  facts.push_back(fmt::format("each serves {} items/s{}{}", format_significant(candidate.capacity, 4),
                              demand.bounds.empty() ? "" : " within the SLO", basis_words(candidate)));
  if (demand.rate) {
    const double copies = static_cast<double>(candidate.devices) / static_cast<double>(candidate.point->point.placement.devices.size());
    facts.push_back(fmt::format("{} of that is used", format_percent(rate / copies / candidate.capacity)));
  }
  if (candidate.latency_s)
    facts.push_back(
        fmt::format("{} {}{}", percentile_of(demand), ms(*candidate.latency_s), candidate.basis == Basis::estimated ? " (estimated)" : ""));
  if (candidate.cost_per_1000) facts.push_back(fmt::format("{} {} for 1000 items", format_significant(*candidate.cost_per_1000), currency));
  if (const auto cost = cost_per_million(candidate, "output_tokens"))
    facts.push_back(fmt::format("{} {} for 1,000,000 output tokens", format_significant(*cost), currency));
  if (const auto cost = cost_per_million(candidate, "input_tokens"))
    facts.push_back(fmt::format("{} {} for 1,000,000 input tokens", format_significant(*cost), currency));
  if (candidate.cost_per_hour)
    facts.push_back(fmt::format("{} {} a month", format_significant(*candidate.cost_per_hour * hours_per_month, 4), currency));
  if (candidate.energy_j_per_item) {
    const ReadableValue energy = readable_value(*find_metric("energy_j_per_item"), {.value = *candidate.energy_j_per_item}, currency);
    facts.push_back(fmt::format("{} {}", format_significant(energy.estimate.value), energy.unit));
    if (demand.rate) facts.push_back(fmt::format("{} kWh a month", format_significant(kwh_per_month(candidate, rate))));
  }
  if (candidate.accuracy_loss)
    facts.push_back(fmt::format("accuracy loss at most {}", demand.accuracy_loss
                                                                ? percent_text(*candidate.accuracy_loss, *demand.accuracy_loss)
                                                                : format_percent(*candidate.accuracy_loss)));
  return facts;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string change_text(const BreakEven& change, const Demand& demand, const std::string& currency) {
  const std::string instead = choice_label(change.instead, demand);
  if (change.what == "price") {
    return fmt::format("at {} {} an hour and device instead of {}: {}", format_significant(change.to), currency,
                       format_significant(change.from), way_label(*change.instead.point));
  }
  if (change.what == "rate") return fmt::format("at {} items/s: {}", format_significant(change.to), instead);
  return fmt::format("at {} {}: {}", percentile_of(demand), ms(change.to), instead);
}

std::string demand_text(const Workload& workload, const Demand& demand) {
  std::string text = workload.label;
  if (demand.rate) text += fmt::format(", {} items/s", short_text(*demand.rate, 5));
  for (const LatencyBound& bound : demand.bounds) text += ", " + bound.text;
  if (demand.accuracy_loss) text += fmt::format(", accuracy loss at most {}", chosen_percent_text(*demand.accuracy_loss));
  return text + fmt::format(", least {}", name_of(demand.goal));
}

std::string nearest_text(const Recommendation& found) {
  if (!found.nearest) return "There is nothing to choose from: see the unknowns below.\n";
  return fmt::format("Nothing meets the SLO. The nearest is {}: {} {} times the limit.\n", way_label(*found.nearest->point),
                     found.nearest->lack == Lack::latency ? "its latency is" : "its loss of accuracy is",
                     ratio_beside_one(found.nearest->excess));
}

// Returns the warning above a choice that could embarrass its buyer.
std::string warning_text(const Candidate& choice, const Demand& demand) {
  constexpr double harmless = 0.01;
  if (demand.accuracy_loss || !choice.accuracy_loss || *choice.accuracy_loss <= harmless) return {};
  return fmt::format("WARNING: up to {} of answers change. Set --accuracy-loss.\n\n", format_percent(*choice.accuracy_loss));
}

template <typename T>
Json known(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json candidate_json(const Candidate& candidate, const Demand& demand, const std::string& currency) {
  const PointSummary& point = *candidate.point;
  const double rate = demand.rate.value_or(candidate.capacity);
  const auto scaled = [](const std::optional<double>& value, double factor) { return value ? Json(*value * factor) : Json(); };
  return {{"point_id", point.point_id},
          {"model", point.point.model},
          {"device_name", point.identity.device},
          {"device", placement_name(point.point.placement)},
          {"backend", point.point.backend},
          {"precision", name_of(point.point.precision)},
          {"batch", point.point.batch > 0 ? Json(point.point.batch) : Json()},
          {"scenario", point.point.scenario},
          {"options", options_text(point.point)},
          {"basis", candidate.basis == Basis::estimated ? "estimated" : "measured"},
          {"devices", candidate.devices},
          {"capacity", candidate.capacity},
          {"rate", known(demand.rate)},
          {"latency_percentile", percentile_of(demand)},
          {"latency_ms", scaled(candidate.latency_s, 1e3)},
          {"accuracy_loss", known(candidate.accuracy_loss)},
          {"currency", candidate.cost_per_hour ? Json(currency) : Json()},
          {"cost_per_hour", known(candidate.cost_per_hour)},
          {"cost_per_month", scaled(candidate.cost_per_hour, hours_per_month)},
          {"cost_per_1000_items", known(candidate.cost_per_1000)},
          {"cost_per_million_output_tokens", known(cost_per_million(candidate, "output_tokens"))},
          {"cost_per_million_input_tokens", known(cost_per_million(candidate, "input_tokens"))},
          {"energy_j_per_item", known(candidate.energy_j_per_item)},
          {"energy_kwh_per_month", candidate.energy_j_per_item && demand.rate ? Json(kwh_per_month(candidate, rate)) : Json()}};
}

}  // namespace

std::string recommendation_text(const Recommendation& found, const Workload& workload, const Demand& demand, const std::string& currency) {
  std::string text = demand_text(workload, demand) + "\n\n";
  if (found.choice) {
    text += warning_text(*found.choice, demand);
    text += fmt::format("Take {}\n  {}\n", choice_label(*found.choice, demand), joined(facts_of(*found.choice, demand, currency)));
  } else {
    text += nearest_text(found);
  }
  if (!found.runners_up.empty()) text += "\nAlternatives\n";
  for (const Candidate& other : found.runners_up)
    text += fmt::format("  {}: {}\n", choice_label(other, demand), joined(facts_of(other, demand, currency)));
  if (!found.would_change.empty()) text += "\nThe choice would change\n";
  for (const BreakEven& change : found.would_change) text += fmt::format("  {}\n", change_text(change, demand, currency));
  if (!found.unknown.empty()) text += "\nUnknown\n";
  for (const Unknown& unknown : found.unknown) {
    text += fmt::format("  {}\n", unknown.what);
    if (!unknown.command.empty()) text += fmt::format("    {}\n", unknown.command);
  }
  return text;
}

std::string recommendation_json(const Recommendation& found, const Workload& workload, const Demand& demand, const std::string& currency) {
  Json json{{"model", workload.label}, {"goal", name_of(demand.goal)}};
  json["choice"] = found.choice ? candidate_json(*found.choice, demand, currency) : Json();
  json["runners_up"] = Json::array();
  for (const Candidate& other : found.runners_up) json["runners_up"].push_back(candidate_json(other, demand, currency));
  json["would_change"] = Json::array();
  for (const BreakEven& change : found.would_change) {
    json["would_change"].push_back(
        {{"what", change.what}, {"from", change.from}, {"to", change.to}, {"instead", candidate_json(change.instead, demand, currency)}});
  }
  json["unknown"] = Json::array();
  for (const Unknown& unknown : found.unknown)
    json["unknown"].push_back({{"what", unknown.what}, {"command", unknown.command.empty() ? Json() : Json(unknown.command)}});
  json["nearest"] = Json();
  if (!found.choice && found.nearest) {
    json["nearest"] = {{"point_id", found.nearest->point->point_id},
                       {"label", way_label(*found.nearest->point)},
                       {"bound", found.nearest->lack == Lack::latency ? "latency" : "accuracy"},
                       {"times_the_bound", found.nearest->excess}};
  }
  return dump_indented(json);
}

}  // namespace deepgap
