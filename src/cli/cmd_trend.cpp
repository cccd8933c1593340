// deepgap trend: how results went from run to run, and where they changed.
#include "analysis/metric.h"
#include "analysis/ratio_text.h"
#include "analysis/trend/trend.h"
#include "analysis/words.h"
#include "base/distinct_digits.h"
#include "base/dump_json.h"
#include "base/file.h"
#include "base/messages.h"
#include "cli/command.h"
#include "cli/selection_flags.h"
#include "cli/stores.h"
#include "report/trend_page.h"
#include "run/progress.h"
#include "run/text_table.h"
#include "store/store.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace deepgap {
namespace {

constexpr size_t fewest_runs = 10;  // fewer runs do not show a change (stats/e_divisive.h)

class TrendCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("store", stores_, "Stores with many runs, or one store for each run")->type_name("STORE")->required();
    app.add_option("--control", control_, "Divide by these results of the same runs, which should not have changed")
        ->type_name("SELECTION");
    app.add_option("--metric", metric_, "Follow this column of the export")->type_name("METRIC")->capture_default_str();
    app.add_option("--version-fact", version_, "Show this fact of the environment beside the dates")
        ->type_name("FACT")
        ->capture_default_str();
    app.add_option("--format", format_, "Output format: text or json")->type_name("FORMAT")->capture_default_str();
    app.add_flag("--json", json_, "Print JSON, as --format json does");
    app.add_option("-o,--output", output_, "Write an HTML page with a chart of every series")->type_name("FILE.html");
    which_.declare(app);
  }
  int run() override;

 private:
  std::vector<std::string> stores_;
  SelectionFlags which_;
  std::string control_, metric_ = "throughput", version_ = "deepgap.git", format_ = "text", output_;
  bool json_ = false;
};

// "better", "worse", or of a metric without a better direction "more", "less".
const char* change_word(const TrendChange& change, Better better) {
  const bool more = change.after > change.before;
  if (better == Better::neither) return more ? "more" : "less";
  return more == (better == Better::higher) ? "better" : "worse";
}

std::string run_text(const TrendRun& run) {
  return format_time(run.started_unix_ns) + (run.version.empty() ? "" : fmt::format(" ({})", run.version));
}

// Returns the value with the digits that distinguish it from the other one.
std::string distinct_text(double value, double other) {
  constexpr int fewest = 4, most = 8;
  const auto text = [](double one, int digits) { return format_significant(one, digits); };
  return text(value, distinct_digits(fewest, most, {{value, other}}, text));
}

// Returns what was found, a line each.
std::vector<std::string> found_lines(const TrendSeries& series, Better better) {
  if (series.runs.size() < fewest_runs) return {fmt::format("too few runs: finding a change takes {}", fewest_runs)};
  if (series.changes.empty()) return {"no change found"};
  std::vector<std::string> lines;
  for (const TrendChange& change : series.changes)
    lines.push_back(fmt::format("{}: {} from {} on, {} before and {} since (p {:.2g}); the last run before was {}",
                                change_word(change, better), ratio_beside_one(change.after / change.before),
                                run_text(series.runs[change.at]), distinct_text(change.before, change.after),
                                distinct_text(change.after, change.before), change.p_value, run_text(series.runs[change.at - 1])));
  return lines;
}

std::string series_text(const TrendSeries& series, Better better) {
  std::string text =
      fmt::format("{}, {} to {}, {}\n", point_label(series.point), format_time(series.runs.front().started_unix_ns),
                  format_time(series.runs.back().started_unix_ns), count_of(static_cast<int64_t>(series.runs.size()), "run", "runs"));
  for (const std::string& line : found_lines(series, better)) text += "  " + line + "\n";
  return text;
}

std::string where_of(const TrendSeries& series) { return series.device + (series.machine.empty() ? "" : " in " + series.machine); }

std::string counts_text(const std::vector<TrendSeries>& all) {
  const auto changed = std::count_if(all.begin(), all.end(), [](const TrendSeries& series) { return !series.changes.empty(); });
  const auto judged = std::count_if(all.begin(), all.end(), [](const TrendSeries& series) { return series.runs.size() >= fewest_runs; });
  if (judged == 0) return "no series has enough runs to find a change";
  return fmt::format("{} of {} changed", changed, count_of(judged, "series", "series"));
}

void print_series(const std::vector<TrendSeries>& all, Better better) {
  std::string machine = "none yet";
  int64_t short_ones = 0;  // many, while a history is young: their number says all
  for (const TrendSeries& series : all) {
    if (series.runs.size() < fewest_runs) {
      ++short_ones;
      continue;
    }
    const std::string where = where_of(series);
    if (where != machine) print_wrapped(fmt::format("{}:\n", where.empty() ? "a machine without a recorded name" : where));
    machine = where;
    print_wrapped(series_text(series, better));
  }
  if (short_ones > 0)
    print_wrapped(fmt::format("{} too few runs: finding a change takes {} (--json lists them)\n",
                              count_of(short_ones, "series has", "series have"), fewest_runs));
  fmt::print("{}\n", counts_text(all));
}

std::string page_of(const std::vector<TrendSeries>& all, const Metric& metric, const std::string& control) {
  TrendPage page{metric.id, metric.unit, control, counts_text(all), {}};
  for (const TrendSeries& series : all)
    page.shown.push_back({&series, point_label(series.point), where_of(series), found_lines(series, metric.better)});
  return trend_page(page);
}

void print_json(const std::vector<TrendSeries>& all, const std::string& metric, Better better) {
  nlohmann::json list = nlohmann::json::array();
  for (const TrendSeries& series : all) {
    nlohmann::json runs = nlohmann::json::array(), changes = nlohmann::json::array();
    for (const TrendRun& run : series.runs)
      runs.push_back({{"started_unix_ns", run.started_unix_ns}, {"version", run.version}, {"value", run.value}});
    for (const TrendChange& change : series.changes)
      changes.push_back({{"at", change.at},
                         {"started_unix_ns", series.runs[change.at].started_unix_ns},
                         {"version", series.runs[change.at].version},
                         {"before", change.before},
                         {"after", change.after},
                         {"ratio", change.after / change.before},
                         {"p_value", change.p_value},
                         {"direction", change_word(change, better)}});
    list.push_back({{"point", point_label(series.point)},
                    {"device", series.device},
                    {"machine", series.machine},
                    {"runs", runs},
                    {"changes", changes}});
  }
  const nlohmann::json json{{"metric", metric}, {"series", list}};
  fmt::print("{}", dump_indented(json));
}

int TrendCommand::run() {
  if (json_) format_ = "json";
  if (format_ != "text" && format_ != "json") throw Error(ErrorKind::usage, invalid_choice(format_, "--format", {"text", "json"}));
  check_page_path(output_, stores_);
  const Metric* metric = find_metric(metric_);
  if (metric == nullptr)
    throw Error(ErrorKind::usage, invalid_value(metric_, "--metric", "a column of deepgap export, such as throughput"));
  const Selection selection = which_.selection(), control(control_);
  TrendCollector collector(metric_, version_);
  bool any = selection.empty();
  look_at_stores(stores_, false, [&](const Store&, const Record& record) {
    const bool is_control = !control_.empty() && control.holds(record);
    const bool is_selected = selection.holds(record);
    any = any || is_selected;
    if (is_control) collector.add_control(record);
    if (!is_control && is_selected) collector.add(record);
  });
  if (!any) refuse_empty_selection(stores_, selection);
  if (!control_.empty() && collector.controls() == 0)
    throw Error(ErrorKind::usage, fmt::format("{} has no record of the control '{}'", store_names(stores_), control_));
  std::vector<TrendSeries> all = collector.series();
  std::erase_if(all, [](const TrendSeries& series) { return series.runs.empty(); });
  if (all.empty())
    throw Error(ErrorKind::usage, fmt::format("{} has no record with {} to follow{}", store_names(stores_), metric_,
                                              selection.empty() ? "" : " among those selected"));
  std::stable_sort(all.begin(), all.end(), [](const TrendSeries& a, const TrendSeries& b) {
    return std::tie(a.device, a.machine) < std::tie(b.device, b.machine);
  });
  format_ == "json" ? print_json(all, metric_, metric->better) : print_series(all, metric->better);
  if (!output_.empty()) write_file_atomic(output_, page_of(all, *metric, control_));
  return 0;
}

const bool registered = add_command<TrendCommand>({"trend",
                                                   {CommandGroup::compare, 2},
                                                   "Find changes of results from run to run on each machine",
                                                   "  deepgap trend nights/*.db\n"
                                                   "  deepgap trend nights.db --model resnet50 --control backend=onnxruntime\n",
                                                   {"--control", "--metric", "--output", "--json"}});

}  // namespace
}  // namespace deepgap
