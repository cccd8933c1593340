// `deepgap tune`: finds the configuration of a network that is the fastest here, or takes the most load under a bound.
#include "base/console.h"
#include "base/dump_json.h"
#include "base/messages.h"
#include "base/quantity.h"
#include "base/text.h"
#include "cli/axis_flags.h"
#include "cli/axis_values.h"
#include "cli/command.h"
#include "cli/run_flags.h"
#include "cli/tune_study.h"
#include "plan/point_fields.h"
#include "record/point_command.h"
#include "record/record_json.h"
#include "run/progress.h"
#include "run/text_table.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

namespace deepgap {
namespace {

constexpr AxisFlag tune_flags[] = {
    {"-m,--model,--onnx", "Zoo name (deepgap models) or ONNX file"},
    {"-w,--weights"},
    {"--dataset", "Dataset: seeded, zeros, pictures, crops, or a path [default: seeded]"},
    {"--bound,--slo", "Latency SLO to meet: p99=15ms [default: none; maximize throughput]"},
    {"-e,--backend", "Engines to try [default: native]"},
    {"-d,--device", "Devices to try: cpu, cuda:0 [default: cpu]"},
    {"-p,--precision", "Precisions to try: fp32,int8 [default: fp32]"},
    {"-t,--threads", "Engine threads to try [default: all allowed CPUs; with four or more, also half of them]"},
    {"--streams", "Concurrent queries to try [default: 1, 2, 4, ... up to the threads]"},
    {"-b,--batch", "Samples per query to try [default: 1,4,16; with an SLO: 1]"},
    {"--max-batch", "Samples to join into one batch at most, with an SLO [default: 1,4,16]"},
    {"--max-delay", "Time that a query may wait for its batch, with an SLO [default: 0 and a tenth of the SLO]"},
};

class TuneCommand final : public Command {
 public:
  void declare(CLI::App& app) override;
  int run() override;

 private:
  TuneRequest request(const RunSettings& settings) const;
  int dry_run(const TuneStudy& tune, const RunSettings& settings) const;
  int print(const TuneStudy& tune, const RunReport& report, const RunSettings& settings) const;

  std::vector<std::string> words_;  // models without a flag
  AxisFlags axes_;
  RunFlags run_flags_;
  std::string budget_ = "10min", ratio_ = "5%";
  std::optional<std::string> duration_, study_;
  std::optional<uint64_t> seed_;
  bool dry_run_ = false, json_ = false;
};

void TuneCommand::declare(CLI::App& app) {
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  const std::string what = "Configurations to try", how = "Search", where = "Execution and output";
  app.add_option("what", words_, "Models, as for --model: zoo names or ONNX files")->type_name("MODEL")->take_all();
  axes_.declare(app, what, tune_flags);
  app.add_option("--budget", budget_, "Limit the whole search, including confirmation of the best")
      ->group(how)
      ->type_name("TIME")
      ->capture_default_str();
  app.add_option("--duration", duration_, "Length of each run [default: 2s; with an SLO: 10s]")->group(how)->type_name("TIME");
  app.add_option("--peak-ratio", ratio_, "Stop when the peak load is known this closely, with an SLO")
      ->group(how)
      ->type_name("PERCENT")
      ->capture_default_str();
  app.add_option("--seed", seed_, "Seed for the order of runs [default: 1]")->group(how)->type_name("N");
  run_flags_.declare(app, where);
  app.add_option("--study", study_, "Name of the study in the records; --resume, report and export keep studies apart")
      ->group(where)
      ->type_name("NAME");
  app.add_flag("--dry-run", dry_run_, "List the configurations; measure nothing")->group(where);
  app.add_flag("--json", json_, "Print JSON")->group(where);
  app.footer("A configuration counts as best only if its advantage is confirmed by repeated runs.");
}

TuneRequest TuneCommand::request(const RunSettings& settings) const {
  TuneRequest request;
  request.axes = axes_.axes();
  request.cpus = settings.cpus;
  if (duration_) request.window = positive_duration_flag("--duration", *duration_, "2s");
  request.peak_ratio = checked_positive_fraction(ratio_, "--peak-ratio", "5%");
  return request;
}

int TuneCommand::run() {
  for (const std::string& word : words_) {
    if (is_study_word(word)) throw Error(ErrorKind::usage, fmt::format("'{}' is a study; tune takes a model", word));
  }
  axes_.add_models(words_);
  RunSettings settings = run_flags_.settings();
  TuneStudy tune = make_tune_study(request(settings));
  tune.order.seed = seed_.value_or(tune.order.seed);
  settings.tune = tune.order;
  settings.own_study = study_.has_value();
  tune.study.name = study_.value_or(tune.study.name);
  settings.search_time = std::chrono::nanoseconds(positive_duration_flag("--budget", budget_, "10min"));
  if (dry_run_) return dry_run(tune, settings);
  return print(tune, run_study(tune.study, settings), settings);
}

std::string value_of(const Point& point, const std::string& axis) { return value_on_point(point, axis).value_or("-"); }

// Returns "fp32, threads 2, streams 1": the settings that vary between configurations; all of them if there is only one.
std::string configuration_text(const Point& point, const std::vector<std::string>& varied) {
  std::vector<std::string> parts;
  for (const std::string& axis : varied) {
    const std::string value = value_of(point, axis);
    if (value != "-") parts.push_back(axis == "backend" || axis == "precision" ? value : axis + " " + value);
  }
  return parts.empty() ? point_label(point) : join(parts, ", ");
}

int TuneCommand::dry_run(const TuneStudy& tune, const RunSettings& settings) const {
  const DryRun plan = plan_study(tune.study, settings);
  if (plan.interrupted) return exit_interrupted;
  nlohmann::json json = nlohmann::json::array();
  size_t tried = 0;
  for (const PlannedPoint& planned : plan.points) {
    tried += planned.refused ? 0 : 1;
    const std::string fate = planned.refused ? "refused: " + planned.reason : "tried";
    json.push_back({{"point", point_to_json(planned.point)}, {"plan", fate}});
    if (!json_) print_wrapped(fmt::format("{}: {}\n", configuration_text(planned.point, tune.varied), fate));
  }
  if (json_) fmt::print("{}", dump_indented(json));
  if (!json_) fmt::print("{} configurations, {} of them tried, in at most {}\n", plan.points.size(), tried, budget_);
  return exit_ok;
}

std::string number(double value) { return number_text(value); }

std::string verdict_of(const TuneStanding& standing, bool first) {
  if (!standing.confirmed) return "not confirmed";
  if (first) return "best";
  return standing.tied ? "no significant difference from the best" : "below the best";
}

std::string held_text(int held, int runs) { return runs == 0 ? "-" : fmt::format("{} of {}", held, runs); }

std::string finalists_table(const TuneStudy& tune, const TuneResult& result) {
  std::vector<TextColumn> columns;
  for (const std::string& axis : tune.varied) {
    columns.push_back({axis, true, {}});
    for (const TunedPoint& tuned : result.finalists) columns.back().cells.push_back(value_of(tuned.point, axis));
  }
  const bool peak = tune.order.peak.has_value();
  TextColumn value{peak ? tune.order.peak->axis.unit : "items/s", true, {}}, held{"held", true, {}};
  TextColumn interval{peak ? "one step above" : "95 % CI", true, {}}, above{"held", true, {}}, runs{"runs", true, {}};
  TextColumn verdict{"result", false, {}};
  for (const TunedPoint& tuned : result.finalists) {
    const TuneStanding& standing = tuned.standing;
    value.cells.push_back(number(standing.value));
    held.cells.push_back(held_text(standing.peak.held, standing.peak.runs));
    above.cells.push_back(held_text(standing.peak.above_held, standing.peak.above_runs));
    runs.cells.push_back(std::to_string(standing.runs));
    std::string range;
    if (standing.interval)
      range = peak ? number(standing.interval->high) : number(standing.interval->low) + " to " + number(standing.interval->high);
    interval.cells.push_back(range);
    verdict.cells.push_back(verdict_of(standing, &tuned == &result.finalists.front()));
  }
  columns.push_back(value);
  for (const TextColumn& column : peak ? std::vector{held, interval, above} : std::vector{interval, runs}) columns.push_back(column);
  columns.push_back(verdict);
  return fitted_table(columns, terminal_columns(stdout), {{"95 % CI"}, {"result", 20}, {"runs"}});
}

// Returns what was found, in a line or two.
std::string answer(const TuneStudy& tune, const TuneResult& result) {
  if (result.finalists.empty()) {
    const std::string what =
        tune.order.peak ? tune.order.peak->bound + " is met by none of the configurations tried" : "no configuration ran";
    return fmt::format("no answer: {}{}\n", what, result.reason.empty() ? "" : "; the last run: " + result.reason);
  }
  const TunedPoint& best = result.finalists.front();
  const std::string label = configuration_text(best.point, tune.varied);
  if (!best.standing.confirmed) return fmt::format("not confirmed: {} did best so far; give more time with --budget\n", label);
  std::string text = "best: " + label;
  if (tune.order.peak) {
    const PeakResult& peak = best.standing.peak;
    text +=
        fmt::format(": {} {} meet {} in {} of {} runs (with {:.0f} % confidence in at least half of all runs)", number(best.standing.value),
                    tune.order.peak->axis.unit, tune.order.peak->bound, peak.held, peak.runs, 100 * peak.confidence());
  }
  const auto tied = std::count_if(result.finalists.begin(), result.finalists.end(), [](const TunedPoint& t) { return t.standing.tied; });
  text += tied == 0 ? "\n" : fmt::format("; {} other configurations show no significant difference\n", tied);
  return text + "use it: " + run_command_of(best.point) + "\n";
}

nlohmann::json finalists_json(const TuneResult& result) {
  nlohmann::json list = nlohmann::json::array();
  for (const TunedPoint& tuned : result.finalists) {
    const TuneStanding& standing = tuned.standing;
    list.push_back({{"point", point_to_json(tuned.point)},
                    {"command", run_command_of(tuned.point)},
                    {"value", standing.value},
                    {"runs", standing.runs},
                    {"confirmed", standing.confirmed},
                    {"tied", standing.tied}});
    if (standing.interval) list.back()["interval"] = {standing.interval->low, standing.interval->high};
  }
  return list;
}

int TuneCommand::print(const TuneStudy& tune, const RunReport& report, const RunSettings& settings) const {
  const TuneResult& result = report.tuned;
  int code = result.confirmed() ? exit_ok : exit_points_failed;
  if (report.interrupted) code = exit_interrupted;
  if (!report.store_error.empty()) code = exit_internal;
  const nlohmann::json json{{"run_id", report.run_id},
                            {"store", settings.store_path},
                            {"exit_code", code},
                            {"records", report.saved},
                            {"done_before", report.done_before},
                            {"interrupted", report.interrupted},
                            {"configurations", result.configurations},
                            {"tried", result.tried},
                            {"confirmed", result.confirmed()},
                            {"reason", result.reason},
                            {"finalists", finalists_json(result)}};
  const std::string text = dump_indented(json);
  if (json_) {
    fmt::print("{}", text);
  } else if (report.saved + report.done_before > 0) {
    for (const std::string& line : failure_lines(report.failures, false)) print_wrapped("  " + line + "\n");
    fmt::print("{} configurations, {} tried, {} left at the end\n", result.configurations, result.tried, result.finalists.size());
    if (!result.finalists.empty()) print_text(finalists_table(tune, result));
    print_wrapped(answer(tune, result));
  }
  flush_standard_output();
  print_ending(report, settings, json_);
  run_flags_.keep_timings(report, settings);
  run_flags_.keep_json(text);
  return code;
}

const bool registered = add_command<TuneCommand>({"tune",
                                                  {CommandGroup::measure, 2},
                                                  "Find the best threads, streams and batches for a network on this machine",
                                                  "  deepgap tune resnet50\n"
                                                  "  deepgap tune resnet50 --slo p99=15ms --budget 5min\n",
                                                  {"--slo", "--backend", "--device", "--precision", "--threads", "--streams", "--batch",
                                                   "--budget", "--dry-run", "--store", "--resume", "--json"}});

}  // namespace
}  // namespace deepgap
