#include "cli/run_text.h"

#include "analysis/duel/duels.h"
#include "analysis/duel/undisturbed_ratio.h"
#include "analysis/interference.h"
#include "analysis/words.h"
#include "base/dump_json.h"
#include "base/quantity.h"
#include "record/point_option.h"
#include "record/record_json.h"
#include "record/task_traits.h"
#include "record/tenant_set.h"
#include "run/progress.h"
#include "run/text_table.h"
#include "run/winner.h"
#include "worker/point_options.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

namespace deepgap {
namespace {

nlohmann::json peaks_json(const RunReport& report, const RunSettings& settings) {
  nlohmann::json list = nlohmann::json::array();
  for (const FoundPeak& found : report.peaks) {
    const PeakResult& result = found.result;
    list.push_back({{"point", point_label(found.point)},
                    {"text", peak_text(found, *settings.peak)},
                    {"confirmed", result.ending == PeakResult::Ending::confirmed},
                    {"load", result.load},
                    {"held", result.held},
                    {"runs", result.runs},
                    {"confidence", result.confidence()},
                    {"above", result.above},
                    {"above_held", result.above_held},
                    {"above_runs", result.above_runs},
                    {"all_runs", result.all_runs}});
    if (!result.crossing) continue;
    list.back()["just_held"] = result.crossing->load;
    if (const auto& interval = result.crossing->interval) list.back().update({{"low", interval->low}, {"high", interval->high}});
  }
  return list;
}

std::string tenants_text(const RunReport& report) {
  std::string text;
  for (const TenantSet& set : tenant_sets(report.points)) {
    text += set.label() + ":\n";
    for (const TenantInterference& tenant : set.tenants) text += "  " + interference_words(tenant) + "\n";
    if (const std::string work = work_words(set); !work.empty()) text += "  " + work + "\n";
  }
  return text;
}

std::string duels_text(const RunReport& report) {
  std::string text;
  constexpr size_t most = 4;  // comparisons of interleaved engines, which the winner of each model sums up
  const std::vector<DuelFound> duels = duels_of(report.points);
  size_t shown = 0;
  for (const DuelFound& duel : duels) {
    if (!duel.of_contenders && shown == most) break;
    ++shown;
    if (duels.size() > 1) text += duel.label() + ":\n";
    for (const DuelOutcome& outcome : duel.others) text += (duels.size() > 1 ? "  " : "") + outcome.words + "\n";
  }
  if (shown < duels.size()) text += fmt::format("{} more comparisons are in the report\n", duels.size() - shown);
  return text;
}

bool has_contenders(const RunReport& report) {
  const std::vector<DuelFound> duels = duels_of(report.points);
  return std::any_of(duels.begin(), duels.end(), [](const DuelFound& duel) { return duel.of_contenders; });
}

// Lists the confirmed peaks; the others are reported as failures.
std::string peaks_text(const RunReport& report, const RunSettings& settings) {
  std::string text;
  for (const FoundPeak& found : report.peaks) {
    if (found.result.ending == PeakResult::Ending::confirmed)
      text += fmt::format("{}: {}\n", point_label(found.point), peak_text(found, *settings.peak));
  }
  return text;
}

nlohmann::json duels_json(const RunReport& report) {
  nlohmann::json list = nlohmann::json::array();
  for (const DuelFound& duel : duels_of(report.points)) {
    nlohmann::json others = nlohmann::json::array();
    for (const DuelOutcome& outcome : duel.others) {
      nlohmann::json json{{"contender", outcome.name},
                          {"point_id", outcome.point->point_id},
                          {"verdict", name_of(outcome.standing.difference)},
                          {"text", outcome.words}};
      if (outcome.known) json.update({{"ratio", outcome.standing.ratio}, {"pairs", outcome.standing.pairs}});
      if (outcome.standing.interval) json.update({{"low", outcome.standing.interval->low}, {"high", outcome.standing.interval->high}});
      if (const MetricSummary* undisturbed = outcome.point->find(undisturbed_ratio_metric)) {
        const Estimate& ratio = undisturbed->estimate;
        json["undisturbed"] = {{"ratio", ratio.value}, {"low", ratio.low.value_or(0)}, {"high", ratio.high.value_or(0)}};
      }
      if (outcome.needs_s > 0) json["needs_s"] = outcome.needs_s;
      others.push_back(std::move(json));
    }
    list.push_back(
        {{"duel", duel.label()}, {"axis", duel.axis}, {"first", duel.first_name}, {"margin", duel.margin}, {"contenders", others}});
  }
  return list;
}

nlohmann::json comparison_json(const std::optional<Comparison>& comparison) {
  if (!comparison) return nullptr;
  nlohmann::json json{{"ratio", comparison->ratio}};
  if (comparison->interval) json.update({{"low", comparison->interval->low}, {"high", comparison->interval->high}});
  return json;
}

nlohmann::json tenants_json(const RunReport& report) {
  nlohmann::json list = nlohmann::json::array();
  for (const TenantSet& set : tenant_sets(report.points)) {
    nlohmann::json tenants = nlohmann::json::array();
    for (const TenantInterference& tenant : set.tenants) {
      tenants.push_back({{"tenant", tenant_name(tenant.together->point)},
                         {"together", tenant.together->point_id},
                         {"alone", tenant.alone->point_id},
                         {"throughput", comparison_json(tenant.throughput)},
                         {"latency_p99", comparison_json(tenant.latency_p99)}});
    }
    list.push_back({{"set", set.label()}, {"tenants", tenants}});
    if (const auto work = set.work()) list.back()["work"] = work->value;
  }
  return list;
}

}  // namespace

std::string run_json(const RunReport& report, const RunSettings& settings, int exit_code) {
  nlohmann::json json{{"run_id", report.run_id},           {"store", settings.store_path},       {"exit_code", exit_code},
                      {"records", report.saved},           {"done_before", report.done_before},  {"planned", report.jobs},
                      {"strict", settings.strict},         {"interrupted", report.interrupted},  {"points", summary_json(report.points)},
                      {"store_error", report.store_error}, {"failures", nlohmann::json::array()}};
  if (settings.peak) json["peaks"] = peaks_json(report, settings);
  if (const nlohmann::json tenants = tenants_json(report); !tenants.empty()) json["tenants"] = tenants;
  if (const nlohmann::json duels = duels_json(report); !duels.empty()) json["duels"] = duels;
  for (const Failure& failure : report.failures)
    json["failures"].push_back({{"point", failure.label}, {"repeat", failure.repeat + 1}, {"result", failure.text}});
  return dump_indented(json);
}

namespace {

// Returns whether a comparison that the run was for shows no significant difference.
bool leaves_open(const RunReport& report) {
  const std::vector<WinnerLine> lines = winner_lines(report.points);
  if (std::any_of(lines.begin(), lines.end(), [](const WinnerLine& line) { return line.open; })) return true;
  for (const DuelFound& duel : duels_of(report.points)) {
    for (const DuelOutcome& outcome : duel.others)
      if (outcome.standing.difference == Difference::unknown) return true;
  }
  return false;
}

// Returns whether the run was one comparison of interleaved engines.
bool is_one_comparison(const RunReport& report) {
  const std::vector<DuelFound> duels = duels_of(report.points);
  return duels.size() == 1 && !duels.front().of_contenders && duels.front().others.size() + 1 == report.points.size();
}

std::string machine_text(const RunReport& report) { return fmt::format("The machine is the reason: {}.", report.disturbed); }

// One line for what did not settle, with what to do; the reason is that of the first.
std::string unstable_text(const RunReport& report) {
  int64_t count = 0;
  const PointSummary* first = nullptr;
  for (const PointSummary& point : report.points) {
    if (point.outcome != Outcome::ok || point.verdict != Verdict::unstable) continue;
    if (count++ == 0) first = &point;
  }
  if (first == nullptr || first->reason.empty()) return {};
  const std::string which = report.points.size() == 1 ? "" : fmt::format("{} of {} points ", count, report.points.size());
  // Where a comparison is open too, the machine is named below it.
  const std::string what_to_do = report.disturbed.empty() ? " Raise --budget or stop other processes (deepgap doctor)."
                                 : leaves_open(report)    ? ""
                                                          : " " + machine_text(report);
  return fmt::format("{}unstable: {}.{}\n", which, first->reason, what_to_do);
}

// One line for what was not checked although it could be used, with the reason of the first.
std::string unchecked_text(const RunReport& report) {
  int64_t count = 0;
  const PointSummary* first = nullptr;
  for (const PointSummary& point : report.points) {
    if (point.outcome != Outcome::ok || !point.unchecked || !is_sound(point.verdict) || point.reason.empty()) continue;
    if (count++ == 0) first = &point;
  }
  if (first == nullptr) return {};
  const std::string which = report.points.size() == 1 ? "" : fmt::format("{} of {} points ", count, report.points.size());
  return fmt::format("{}unchecked: {}\n", which, first->reason);
}

// Returns what unstable points do while nothing disturbs them, if that is known.
std::string undisturbed_text(const RunReport& report) {
  constexpr int most = 4;
  std::string text;
  int shown = 0;
  for (const PointSummary& point : report.points) {
    const MetricSummary* throughput = point.find("throughput_undisturbed");
    const MetricSummary* share = point.find("undisturbed_share");
    if (point.outcome != Outcome::ok || point.verdict != Verdict::unstable || throughput == nullptr || share == nullptr) continue;
    if (shown++ == most) break;
    const Estimate& value = throughput->estimate;
    const std::string interval =
        value.low && value.high ? fmt::format(" (95 % CI {} to {})", number_text(*value.low), number_text(*value.high)) : "";
    text += fmt::format("{}: {} items/s{} in the {} of the time without disturbance\n", point_label(point.point), number_text(value.value),
                        interval, percent_text(share->estimate.value));
  }
  return text;
}

}  // namespace

std::string run_text(const RunReport& report, const RunSettings& settings, size_t width, const std::vector<double>& percentiles) {
  if (report.points.empty()) return {};
  std::string text = tenants_text(report) + duels_text(report) + peaks_text(report, settings);
  const bool names_failures = !report.failures.empty();
  if (!names_failures && !settings.peak && !has_contenders(report)) text += unstable_text(report) + undisturbed_text(report);
  text += unchecked_text(report);
  if (names_failures && !settings.peak)
    text += fmt::format("{} of {} cannot be used:\n", report.failures.size(),
                        count_of(static_cast<int64_t>(report.saved + report.done_before), "record", "records"));
  for (const std::string& line : failure_lines(report.failures, report.repeated)) text += "  " + line + "\n";
  return summary_table(report.points, width, percentiles) + wrapped_lines(text, width);
}

std::string winners_text(const RunReport& report, size_t width) {
  constexpr size_t most = 4;
  std::string text;
  std::vector<WinnerLine> lines = winner_lines(report.points);
  if (is_one_comparison(report)) lines.clear();  // it has been shown
  for (size_t i = 0; i < std::min(most, lines.size()); ++i) text += wrapped_lines(lines[i].text + "\n", width);
  if (lines.size() > most) text += fmt::format("{} more models are in the report\n", lines.size() - most);
  const bool open = leaves_open(report);
  if (open && !report.disturbed.empty()) {
    text += wrapped_lines(machine_text(report) + "\n", width);
  } else if (open && duels_of(report.points).empty()) {
    const bool can_duel = task_traits(report.points.front().point.task).takes_turns;
    text += wrapped_lines(fmt::format("Raise --repeats or --budget{}. deepgap doctor shows what disturbs.\n",
                                      can_duel ? ", or compare in alternating time slices (--duel backend)" : ""),
                          width);
  } else if (open && !has_contenders(report)) {
    text += wrapped_lines("Measure longer (--min-duration), or until the difference is clear (--duel backend).\n", width);
  }
  return text;
}

bool may_be_disturbed(const RunReport& report) {
  return report.saved > 0 && std::none_of(report.points.begin(), report.points.end(), [](const PointSummary& summary) {
           return is_remote(summary.point.placement) || is_in_virtual_time(summary.point);
         });
}

}  // namespace deepgap
