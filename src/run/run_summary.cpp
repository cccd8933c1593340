#include "run/run_summary.h"

#include "analysis/latency_percentile.h"
#include "analysis/point_verdict.h"
#include "analysis/words.h"
#include "base/quantity.h"
#include "base/text.h"
#include "base/words.h"
#include "record/dataset_hash.h"
#include "record/duel_set.h"
#include "record/record_json.h"
#include "record/task_traits.h"
#include "record/verdict.h"
#include "run/text_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace deepgap {
namespace {

struct Column {
  std::string title;
  bool right = false;
  bool always = true;  // else only where it differs between Points
  std::function<std::string(const PointSummary&)> text;
  bool wherever_known = false;  // also where it is the same for all
};

std::string shown_number(double value) { return number_text(value); }

std::string number(const PointSummary& point, const char* metric) {
  const MetricSummary* found = point.find(metric);
  return found == nullptr ? "" : shown_number(found->estimate.value);
}

std::string percent(const PointSummary& point, const char* metric) {
  const MetricSummary* found = point.find(metric);
  return found == nullptr ? "" : fmt::format("{:.2f}", found->estimate.value * 100);
}

std::string interval(const PointSummary& point) {
  const MetricSummary* found = point.find(work_rate(point.point).metric);
  if (found == nullptr || !found->estimate.low || !found->estimate.high) return "";
  if (is_of_two(*found)) return format_interval(*found);
  return fmt::format("{} to {}", shown_number(*found->estimate.low), shown_number(*found->estimate.high));
}

std::string result(const PointSummary& point) {
  const bool has_verdict = point.outcome == Outcome::ok && point.verdict != Verdict::none;
  std::string text = has_verdict ? verdict_words(point.verdict) : std::string(name_of(point.outcome));
  if (point.unchecked) text += ", unchecked";
  if (has_verdict && !point.notes.empty()) text += ", " + point.notes;
  return text;
}

// Returns the names of the options that have one value in all Points: a table shows what differs.
std::set<std::string> common_options(const std::vector<PointSummary>& points) {
  std::set<std::string> names;
  if (points.size() < 2) return names;
  for (const auto& [name, value] : points.front().point.options) {
    const bool same = std::all_of(points.begin(), points.end(), [&, &name = name, &value = value](const PointSummary& other) {
      const auto found = other.point.options.find(name);
      return found != other.point.options.end() && found->second == value;
    });
    if (same) names.insert(name);
  }
  return names;
}

std::string options_without(const std::set<std::string>& names, Point point) {
  std::erase_if(point.options, [&](const auto& option) { return names.contains(option.first); });
  return options_text(without_dataset_hash(without_duel(point)));
}

std::vector<Column> rate_columns(const std::vector<PointSummary>& points) {
  const auto generates = [](const PointSummary& point) { return point.point.task == Task::generate; };
  const bool all = std::all_of(points.begin(), points.end(), generates), any = std::any_of(points.begin(), points.end(), generates);
  const auto value = [](const char* metric) { return [metric](const PointSummary& point) { return number(point, metric); }; };
  std::vector<Column> columns;
  if (!all) columns.push_back({"items/s", true, true, value("throughput")});
  if (any) columns.push_back({"tokens/s", true, true, value("output_tokens_per_s")});
  columns.push_back({"95 % CI", true, true, interval});
  if (any) columns.push_back({"TTFT ms", true, true, value("ttft_p50_ms")});
  if (any) columns.push_back({"TPOT ms", true, true, value("tpot_ms")});
  return columns;
}

std::vector<Column> columns(const std::vector<PointSummary>& points) {
  const auto of_point = [](auto read) { return [read](const PointSummary& p) { return std::string(read(p.point)); }; };
  std::vector<Column> all{
      {"model", false, true, of_point([](const Point& p) { return p.model; })},
      {"weights", false, false, of_point([](const Point& p) { return p.weights; })},
      {"dataset", false, false, of_point([](const Point& p) { return p.dataset; })},
      {"backend", false, true, of_point([](const Point& p) { return p.backend; })},
      {"device", false, false, of_point([](const Point& p) { return placement_name(p.placement); })},
      {"precision", false, false, of_point([](const Point& p) { return std::string(name_of(p.precision)); })},
      {"batch", true, true, of_point([](const Point& p) { return std::to_string(p.batch); })},
      {"threads", true, false, of_point([](const Point& p) { return std::to_string(p.threads); })},
      {"scenario", false, false, of_point([](const Point& p) { return p.scenario; })},
      {"options", false, false, of_point([common = common_options(points)](const Point& p) { return options_without(common, p); })},
      {"p50 ms", true, true, [](const PointSummary& p) { return number(p, "latency_p50_ms"); }},
      {"p99 ms", true, true, [](const PointSummary& p) { return number(p, "latency_p99_ms"); }},
      {"top-1 %", true, false, [](const PointSummary& p) { return percent(p, "accuracy_top1"); }, true},
      {"repeats", true, false, [](const PointSummary& p) { return std::to_string(p.records); }},
      {"result", false, true, result}};
  const std::vector<Column> rates = rate_columns(points);
  all.insert(std::find_if(all.begin(), all.end(), [](const Column& column) { return column.title == "p50 ms"; }), rates.begin(),
             rates.end());
  return all;
}

// The percentiles stand together, in their order behind p50.
std::vector<Column> columns_with(const std::vector<double>& percentiles, const std::vector<PointSummary>& points) {
  std::vector<Column> all = columns(points);
  for (const double percent : percentiles) {
    const std::string title = fmt::format("p{:g} ms", percent), id = latency_percentile_column(percent);
    const auto same = [&](const Column& column) { return column.title == title; };
    if (std::any_of(all.begin(), all.end(), same)) continue;
    const auto after = std::find_if(all.begin(), all.end(), [&](const Column& column) {
      return column.title == (percent > 99 ? "top-1 %" : percent > 50 ? "p99 ms" : "p50 ms");
    });
    all.insert(after, {title, true, true, [id](const PointSummary& p) { return number(p, id.c_str()); }});
  }
  return all;
}

nlohmann::json estimate_json(const Estimate& estimate) {
  nlohmann::json json{{"value", estimate.value}};
  if (estimate.low) json["low"] = *estimate.low;
  if (estimate.high) json["high"] = *estimate.high;
  return json;
}

// Returns the steps; what can be spared goes first.
const std::vector<Squeeze>& squeezes() {
  static const std::vector<Squeeze> steps{{"options", 24}, {"result", 28}, {"model", 32}, {"options", 12}, {"model", 20},  {"dataset"},
                                          {"weights"},     {"95 % CI"},    {"options"},   {"repeats"},     {"top-1 %"},    {"p50 ms"},
                                          {"threads"},     {"result", 20}, {"model", 14}, {"scenario", 8}, {"result", 16}, {"model", 10},
                                          {"p99 ms"},      {"device"},     {"precision"}, {"scenario"}};
  return steps;
}

}  // namespace

std::string verdict_words(Verdict verdict) {
  if (verdict == Verdict::as_found) return "no target";
  return verdict == Verdict::undecided ? "inconclusive" : std::string(name_of(verdict));
}

bool is_usable(const Record& record, bool strict) {
  if (record.outcome == Outcome::skipped) return true;
  if (record.outcome != Outcome::ok) return false;
  return is_sound(record.verdict) || (!strict && record.verdict == Verdict::unstable);
}

void judge_together(std::vector<Failure>& failures, const std::vector<PointSummary>& points, bool strict) {
  std::map<std::string, const PointSummary*> together;
  for (const PointSummary& point : points) {
    if (point.pooled || is_judged_by_interval(point)) together.emplace(point.point_id, &point);
  }
  const auto found = [&](const Failure& failure) { return together.find(failure.of_verdict); };
  std::erase_if(failures, [&](const Failure& failure) {
    if (found(failure) == together.end()) return false;
    const Verdict verdict = found(failure)->second->verdict;
    return is_sound(verdict) || (!strict && verdict == Verdict::unstable);
  });
  for (Failure& failure : failures) {
    if (const auto point = found(failure); point != together.end())
      failure.together = fmt::format("{}: {}", verdict_words(point->second->verdict), point->second->reason);
  }
}

std::vector<std::string> failure_lines(const std::vector<Failure>& failures, bool repeated) {
  const auto text_of = [](const Failure& failure) { return failure.together.empty() ? failure.text : failure.together; };
  std::map<std::pair<std::string, std::string>, int> counts;
  std::map<std::string, std::set<std::string>> labels;  // by text
  for (const Failure& failure : failures) {
    ++counts[{failure.label, text_of(failure)}];
    labels[text_of(failure)].insert(failure.label);
  }
  constexpr size_t many = 3;  // points that failed alike; the table above has each of them
  std::set<std::string> shown;
  std::vector<std::string> lines;
  for (const Failure& failure : failures) {
    if (const size_t alike = labels[text_of(failure)].size(); alike >= many) {
      if (shown.insert(text_of(failure)).second)
        lines.push_back(printable(fmt::format("{} and {} other points: {}", failure.label, alike - 1, text_of(failure))));
      continue;
    }
    int& count = counts[{failure.label, text_of(failure)}];
    if (count == 0) continue;  // reported with the first of them
    std::string which;
    if (count > 1) {
      which = fmt::format(" ({} records)", count);
    } else if (repeated && failure.together.empty()) {
      which = fmt::format(" repeat {}", failure.repeat + 1);
    }
    lines.push_back(printable(fmt::format("{}{}: {}", failure.label, which, text_of(failure))));
    count = 0;
  }
  return lines;
}

std::string summary_table(const std::vector<PointSummary>& points, size_t width, const std::vector<double>& percentiles) {
  std::vector<TextColumn> shown;
  for (const Column& column : columns_with(percentiles, points)) {
    std::vector<std::string> cells;
    for (const PointSummary& point : points) cells.push_back(column.text(point));
    const bool differs = std::any_of(cells.begin(), cells.end(), [&](const std::string& cell) { return cell != cells.front(); });
    const bool has_values =
        column.wherever_known && std::any_of(cells.begin(), cells.end(), [](const auto& cell) { return !cell.empty(); });
    if (!column.always && !differs && !has_values) continue;
    shown.push_back({column.title, column.right, std::move(cells)});
  }
  return fitted_table(std::move(shown), width, squeezes());
}

nlohmann::json summary_json(const std::vector<PointSummary>& points) {
  nlohmann::json list = nlohmann::json::array();
  for (const PointSummary& point : points) {
    nlohmann::json row{{"point_id", point.point_id},
                       {"point", point_to_json(point.point)},
                       {"device_name", point.identity.device},
                       {"outcome", name_of(point.outcome)},
                       {"verdict", name_of(point.verdict)},
                       {"reason", point.reason},
                       {"unchecked", point.unchecked},
                       {"notes", point.notes},
                       {"records", point.records},
                       {"metrics", nlohmann::json::object()}};
    for (const auto& [id, metric] : point.metrics) row["metrics"][id] = estimate_json(metric.estimate);
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace deepgap
