#include "analysis/metric.h"
#include "analysis/words.h"
#include "base/dump_json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "record/point_command.h"
#include "record/record_json.h"
#include "report/style.h"
#include "site/site.h"

#include <fmt/format.h>
#include <packed_site.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <set>

namespace deepgap {
namespace {

using nlohmann::json;

constexpr size_t rows_of_file = 5000, details_of_file = 250, environments_of_file = 20;

// Metrics of the table and the chart; the others are on the page of a Point.
constexpr const char* table_metrics[] = {"throughput",        "latency_p50_ms", "latency_p99_ms",     "cost_per_1000_items",
                                         "energy_j_per_item", "accuracy_top1",  "accuracy_loss",      "device_memory_mib",
                                         "host_memory_mib",   "ttft_p50_ms",    "output_tokens_per_s"};

std::string text_of(const json& value) { return dump_ascii_line(value); }

std::string number_text(double value) { return std::isfinite(value) ? fmt::format("{:.6g}", value) : "null"; }
std::string number_text(const std::optional<double>& value) { return value ? number_text(*value) : "null"; }

std::string unit_of(const std::string& metric, const std::string& currency) {
  const Metric* known = find_metric(metric);
  return known == nullptr ? "" : unit_text(*known, currency);
}

std::string device_of(const PointSummary& point) {
  return point.identity.device.empty() ? placement_name(point.point.placement) : point.identity.device;
}

std::string state_of(const PointSummary& point) {
  return std::string(point.outcome == Outcome::ok ? name_of(point.verdict) : name_of(point.outcome));
}

// A property by which rows are filtered: its texts, each once, and for every row which it is.
struct Dictionary {
  const char* name;
  std::string (*text)(const PointSummary&);
  std::map<std::string, size_t> places = {};
  std::vector<std::string> texts = {};

  size_t place(const PointSummary& point) {
    const auto [at, is_new] = places.try_emplace(text(point), texts.size());
    if (is_new) texts.push_back(at->first);
    return at->second;
  }
};

std::vector<Dictionary> dictionaries() {
  return {{"model", [](const PointSummary& p) { return p.point.model; }},
          {"device", device_of},
          {"engine", [](const PointSummary& p) { return p.point.backend; }},
          {"precision", [](const PointSummary& p) { return std::string(name_of(p.point.precision)); }},
          {"scenario", [](const PointSummary& p) { return p.point.scenario; }},
          {"task", [](const PointSummary& p) { return std::string(name_of(p.point.task)); }},
          {"options", [](const PointSummary& p) { return options_text(p.point); }},
          {"state", state_of}};
}

// Returns ids in order, each of which depends on nothing but what it is.
std::vector<std::string> ids_of(const std::vector<PointSummary>& points) {
  std::vector<std::string> ids;
  std::set<std::string> taken;
  for (const PointSummary& point : points) {
    std::string id = sha256(point.point_id + "\n" + point.identity.device + "\n" + point.tenant).substr(0, 12);
    for (int number = 2; taken.contains(id); ++number) id = id.substr(0, 12) + "-" + std::to_string(number);
    taken.insert(id);
    ids.push_back(std::move(id));
  }
  return ids;
}

class SiteWriter {
 public:
  SiteWriter(const Results& results, const SiteOptions& options)
      : results_(results), options_(options), ids_(ids_of(results.points)), dictionaries_(dictionaries()) {
    for (const char* id : table_metrics) {
      const auto has = [id](const PointSummary& point) { return point.find(id) != nullptr; };
      if (std::any_of(results.points.begin(), results.points.end(), has)) metrics_.emplace_back(id);
    }
  }

  std::vector<SiteFile> files() {
    put("site.js", std::string(report_script()) + std::string(packed("site.js")));
    const size_t count = results_.points.size();
    for (size_t from = 0; from < count; from += rows_of_file) write_rows(from, std::min(count, from + rows_of_file));
    for (size_t from = 0; from < count; from += details_of_file) write_details(from, std::min(count, from + details_of_file));
    write_environments();
    write_index();
    return std::move(files_);
  }

  static std::string_view packed(const std::string& name) {
    for (const auto& [known, text] : packed_site()) {
      if (known == name) return text;
    }
    return {};
  }

 private:
  void put(std::string name, std::string text) { files_.push_back({std::move(name), std::move(text)}); }
  void put_data(const std::string& kind, size_t number, const std::string& text) {
    put(fmt::format("{}-{}.js", kind, number), fmt::format("deepgapSite.add(\"{}\",{},{});\n", kind, number, text));
  }

  // Writes rows by column: numbers as such, texts as places in the index's lists.
  void write_rows(size_t from, size_t to) {
    std::string text = "{\"id\":[";
    const auto column = [&](const auto& cell) {
      for (size_t i = from; i < to; ++i) {
        if (i > from) text += ',';
        cell(i);
      }
    };
    column([&](size_t i) { text += "\"" + ids_[i] + "\""; });
    for (Dictionary& dictionary : dictionaries_) {
      text += fmt::format("],\"{}\":[", dictionary.name);
      column([&](size_t i) { text += std::to_string(dictionary.place(results_.points[i])); });
    }
    text += "],\"batch\":[";
    column([&](size_t i) { text += std::to_string(results_.points[i].point.batch); });
    text += "],\"threads\":[";
    column([&](size_t i) { text += std::to_string(results_.points[i].point.threads); });
    text += "],\"time\":[";
    column([&](size_t i) { text += std::to_string(results_.points[i].last_started_unix_ns / 1'000'000'000); });
    for (const std::string& id : metrics_) {
      text += fmt::format("],\"{}\":[", id);
      column([&](size_t i) { text += value_and_interval(results_.points[i].find(id)); });
    }
    put_data("rows", from / rows_of_file, text + "]}");
  }

  static std::string value_and_interval(const MetricSummary* metric) {
    if (metric == nullptr) return "null,null,null";
    return number_text(metric->estimate.value) + "," + number_text(metric->estimate.low) + "," + number_text(metric->estimate.high);
  }

  void write_details(size_t from, size_t to) {
    json list = json::array();
    for (size_t i = from; i < to; ++i) list.push_back(detail_of(results_.points[i]));
    put_data("details", from / details_of_file, text_of(list));
  }

  json detail_of(const PointSummary& point) {
    json detail{{"facts", facts_of(point)}, {"metrics", metrics_of(point)}, {"run", run_command_of(point.point)}};
    if (!point.reason.empty()) detail["reason"] = point.reason;
    if (!point.stderr_tail.empty()) detail["stderr"] = point.stderr_tail;
    const auto origin = options_.origins.find(point.on_device());
    if (origin != options_.origins.end())
      detail["rerun"] =
          fmt::format("deepgap rerun {} --from {}", origin->second.record_id.substr(0, 12), shell_quoted(origin->second.store));
    if (point.environment) detail["environment"] = environment_place(*point.environment);
    const auto trends = options_.trends.find(point.on_device());
    if (trends != options_.trends.end()) {
      for (const TrendSeries& series : trends->second) detail["trends"].push_back(trend_json(series));
    }
    return detail;
  }

  static json trend_json(const TrendSeries& series) {
    json runs = json::array(), changes = json::array();
    for (const TrendRun& run : series.runs) runs.push_back({run.started_unix_ns / 1'000'000'000, run.value, run.version});
    for (const TrendChange& change : series.changes) changes.push_back({change.at, change.before, change.after});
    return {{"machine", series.machine}, {"runs", runs}, {"changes", changes}};
  }

  // Name and text, in the order in which people ask.
  static json facts_of(const PointSummary& point) {
    json facts = json::array();
    const auto add = [&](const char* name, const std::string& text) {
      if (!text.empty()) facts.push_back({name, text});
    };
    add("point", point.point_id);
    add("weights", point.point.weights);
    add("dataset", point.dataset_description.empty() ? point.point.dataset : point.dataset_description);
    add("placement", placement_name(point.point.placement));
    add("machine", join({point.machines.begin(), point.machines.end()}, "; "));
    add("engine version", join({point.backend_versions.begin(), point.backend_versions.end()}, ", "));
    add("options", options_text(point.point));
    add("study", join({point.studies.begin(), point.studies.end()}, ", "));
    add("tags", join({point.annotations.tags.begin(), point.annotations.tags.end()}, ", "));
    add("notes", join({point.annotations.notes.begin(), point.annotations.notes.end()}, "; "));
    add("records", point.used == point.records ? std::to_string(point.records) : fmt::format("{}, {} used", point.records, point.used));
    add("first measured", point.first_started_unix_ns == 0 ? "" : format_time(point.first_started_unix_ns));
    add("last measured", point.last_started_unix_ns == 0 ? "" : format_time(point.last_started_unix_ns));
    if (point.check)
      add("check", fmt::format("{}, SQNR {} dB against {}", point.check->pass ? "passed" : "failed",
                               format_significant(point.check->sqnr_db), point.check->against));
    if (point.unchecked) add("check", "unchecked");
    return facts;
  }

  json metrics_of(const PointSummary& point) const {
    json metrics = json::array();
    for (const auto& [id, metric] : point.metrics)
      metrics.push_back({id, format_estimate(metric.estimate), format_interval(metric), unit_of(id, results_.currency)});
    return metrics;
  }

  size_t environment_place(const Facts& facts) {
    const auto [at, is_new] = environment_places_.try_emplace(facts, environment_places_.size());
    if (is_new) environments_.push_back(&at->first);
    return at->second;
  }

  void write_environments() {
    for (size_t from = 0; from < environments_.size(); from += environments_of_file) {
      json list = json::array();
      for (size_t i = from; i < std::min(environments_.size(), from + environments_of_file); ++i) {
        json facts = json::array();
        for (const auto& [key, fact] : *environments_[i]) facts.push_back({key, format_fact(fact)});
        list.push_back(std::move(facts));
      }
      put_data("environments", from / environments_of_file, text_of(list));
    }
  }

  void write_index() {
    json lists = json::object(), metrics = json::array();
    for (const Dictionary& dictionary : dictionaries_) lists[dictionary.name] = dictionary.texts;
    for (const std::string& id : metrics_) {
      const Metric* known = find_metric(id);
      const char* better = known == nullptr || known->better == Better::neither ? "" : known->better == Better::higher ? "higher" : "lower";
      metrics.push_back({{"id", id}, {"unit", unit_of(id, results_.currency)}, {"better", better}});
    }
    const json index{{"points", results_.points.size()},
                     {"rows_of_file", rows_of_file},
                     {"details_of_file", details_of_file},
                     {"environments_of_file", environments_of_file},
                     {"lists", lists},
                     {"metrics", metrics}};
    put_data("index", 0, text_of(index));
  }

  const Results& results_;
  const SiteOptions& options_;
  std::vector<std::string> ids_, metrics_;
  std::vector<Dictionary> dictionaries_;
  std::map<Facts, size_t> environment_places_;
  std::vector<const Facts*> environments_;
  std::vector<SiteFile> files_;
};

}  // namespace

std::vector<SiteFile> site_files(const Results& results, const SiteOptions& options) { return SiteWriter(results, options).files(); }

}  // namespace deepgap
