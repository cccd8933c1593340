// `deepgap run`: measures what a study file or flags ask for and writes the Records to a Store.
#include "analysis/words.h"
#include "base/console.h"
#include "base/messages.h"
#include "base/text.h"
#include "cli/axis_flags.h"
#include "cli/axis_values.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/dry_run_text.h"
#include "cli/length_flags.h"
#include "cli/peak_flags.h"
#include "cli/profile_points.h"
#include "cli/run_axes.h"
#include "cli/run_feature.h"
#include "cli/run_flags.h"
#include "cli/run_text.h"
#include "cli/written_paths.h"
#include "run/read_in_child.h"
#include "run/run_study.h"
#include "telemetry/environment.h"
#include "telemetry/machine_load.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

namespace deepgap {
namespace {

class RunCommand final : public Command {
 public:
  void declare(CLI::App& app) override;
  Features features() const override;
  int run() override;

 private:
  Features features_beside(const Study& study) const;
  void declare_what(CLI::App& app);
  void declare_order(CLI::App& app);
  void declare_where(CLI::App& app);
  void sort_words();
  Study make_study() const;
  Overrides make_overrides() const;
  bool a_person_waits() const;
  RunSettings make_settings() const;
  void set_up_peak_search(Study& study, RunSettings& settings) const;
  int run_parts(const Study& study, const RunSettings& settings) const;
  int dry_run(const Study& study, const RunSettings& settings) const;
  int execute_and_profile(const Study& study, const RunSettings& settings) const;
  void take_profiles(const RunReport& report, const RunSettings& settings) const;
  int print_report(const RunReport& report, const RunSettings& settings) const;

  std::vector<std::string> words_;  // without a flag
  std::string study_file_;
  AxisFlags axes_;
  std::vector<std::string> tenants_;
  std::vector<std::string> duels_;  // the Plan refuses more than one
  std::optional<std::string> margin_;
  LengthFlags length_;
  std::vector<std::unique_ptr<RunFeature>> features_;
  RunFlags run_flags_;
  std::optional<std::string> check_, study_name_;
  std::optional<uint64_t> seed_;
  PeakSearchFlags peak_;
  bool apart_ = false;
  bool profile_ = false, dry_run_ = false, strict_ = false, json_ = false;
};

constexpr const char *what_group = "Measured points", *how_group = "Length and repeats", *where_group = "Execution and output";

void RunCommand::declare(CLI::App& app) {
  app.footer(axis_help);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  declare_what(app);
  declare_order(app);
  length_.declare(app, how_group);
  peak_.declare(app, how_group);
  app.add_option("--seed", seed_, "Seed for the measurement order [default: 1]")->group(how_group)->type_name("N");
  run_flags_.declare(app, where_group);
  const auto& known = Registry<RunFeature>::instance();
  for (const std::string& name : known.names()) features_.emplace_back(known.make("feature", name))->declare(app, what_group, where_group);
  declare_where(app);
}

void RunCommand::declare_what(CLI::App& app) {
  app.add_option("what", words_, "Study file (.toml), whose axes and settings flags replace; or models: zoo names, ONNX or GGUF files")
      ->type_name("STUDY.toml|MODEL")
      ->take_all();
  axes_.declare(app, what_group, run_axes());
  app.add_option("--tenant", tenants_,
                 "Measure several models together, and each alone; repeat for each: model=resnet50,batch=8,scenario=server,rate=20. Other "
                 "flags apply to all")
      ->group(what_group)
      ->type_name("LIST")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--duel", duels_,
                 "Compare the values of this axis (backend, model, precision ...) interleaved, each with the first. Ends when the "
                 "difference is clear, or after --budget (2m without it)")
      ->group(what_group)
      ->type_name("AXIS")
      ->take_all()
      ->allow_extra_args(false);
}

void RunCommand::declare_order(CLI::App& app) {
  app.add_flag("--apart", apart_,
               "Measure each engine in a process of its own, one after the other. By default several engines on a CPU stay loaded and take "
               "time slices of 0.1 to 1 s, so that what the machine does affects all of them alike")
      ->group(how_group);
  app.add_option("--margin", margin_, "Treat smaller differences as equal, with --duel [default: 2%]")->group(how_group)->type_name("2%");
}

void RunCommand::declare_where(CLI::App& app) {
  app.add_flag("--profile", profile_, "Profile each point layer by layer after measuring, and keep the profile with its record")
      ->group(where_group);
  app.add_flag("--dry-run", dry_run_, "List points, refusals and time; store nothing. At a terminal, short runs give the time")
      ->group(where_group);
  app.add_option("--check", check_, "Compare outputs with the reference before timing: on or off [default: on]")
      ->group(where_group)
      ->type_name("on|off");
  app.add_option("--study", study_name_, "Name of the study in the records; --resume, report and export keep studies apart")
      ->group(where_group)
      ->type_name("NAME");
  app.add_flag("--strict", strict_, "Count unstable results as failures too")->group(where_group);
  app.add_flag("--json", json_, "Print the summary as JSON")->group(where_group);
}

Overrides RunCommand::make_overrides() const {
  Overrides overrides;
  overrides.axes = axes_.axes();
  for (const auto& feature : features_) feature->add_axes(axes_, overrides);
  length_.add_to(overrides);
  if (!duels_.empty()) overrides.duel = join(duels_, ",");
  overrides.interleave = !apart_;
  if (margin_) overrides.margin = checked_positive_fraction(*margin_, "--margin", "2%");
  for (const std::string& text : tenants_) overrides.tenants.push_back(parse_tenant(text));
  if (check_ && *check_ != "on" && *check_ != "off")
    throw Error(ErrorKind::usage, fmt::format("invalid value '{}' for --check: expected on or off", *check_));
  if (check_) overrides.check = *check_ == "on";
  return overrides;
}

Study RunCommand::make_study() const {
  const Overrides overrides = make_overrides();
  if (study_file_.empty() && tenants_.empty() && find_axis(overrides.axes, "model") == nullptr)
    throw Error(ErrorKind::usage, "nothing to measure: name a model (see deepgap models), an ONNX file or a study file");
  Study study;
  if (!study_file_.empty()) {
    read_in_child({{"kind", "study"}, {"path", study_file_}}, study_file_, {});
    study = read_study(study_file_);
  }
  apply_overrides(study, overrides);
  refuse_conflicts("study", features_beside(study));
  for (const auto& feature : features_) feature->change_study(study);
  if (seed_) study.seed = *seed_;
  if (study_name_) study.name = *study_name_;
  return study;
}

// Returns whether a person waits: at a terminal, with one question and no rule of their own for how long it takes.
bool RunCommand::a_person_waits() const {
  const bool terminal = terminal_columns(stdout) > 0 && terminal_columns(stderr) > 0;
  return terminal && !length_.any_rule() && !peak_.is_asked() && !json_ && duels_.empty();
}

// Describes the load as `doctor` sees it; empty where the others hardly matter.
std::string busy_words() {
  const Advice advice = neighbours_advice(watch_machine(SystemRoot("/"), 100));
  return advice.level == Advice::Level::warning ? fmt::format("{}; {}", advice.finding, advice.remedy) : std::string();
}

// Runs the study and notes what else the machine did meanwhile.
RunReport watched_run(const Study& study, const RunSettings& settings) {
  RunReport report;
  const auto load = watch_machine(SystemRoot("/"), [&] { report = run_study(study, settings); });
  if (may_be_disturbed(report)) report.disturbed = disturbance_words(load);
  return report;
}

RunSettings RunCommand::make_settings() const {
  RunSettings settings = run_flags_.settings();
  for (const auto& feature : features_) feature->change_settings(settings);
  settings.strict = strict_;
  if (!dry_run_) settings.busy = busy_words();
  settings.auto_repeats = length_.repeats_are_auto();
  if (settings.auto_repeats) settings.search_time = length_.budget();
  settings.own_study = study_name_.has_value();
  if (a_person_waits()) settings.first_look = std::chrono::seconds(3);
  return settings;
}

Features RunCommand::features() const {
  Features features = given;
  for (const Axis& axis : axes_.axes())
    if (axes_.has_flag(axis.name)) features.emplace(flag_of_axis(axis.name), flag_of_axis(axis.name));
  if (std::any_of(words_.begin(), words_.end(), is_study_word)) features.emplace("a study file", "");
  return features;
}

// Returns the flags, and what the study has that not every flag goes with.
Features RunCommand::features_beside(const Study& study) const {
  Features features = given;
  for (const Grid& grid : study.grids) {
    if (grid.find_peak && !peak_.is_asked()) features.emplace("find_peak", "");
    for (const Axis& axis : grid.axes) {
      refuse_left_out(flag_of_axis(axis.name));
      for (const std::string& value : axis.values) refuse_left_out(axis.name + "=" + value);
      features.emplace(axis.name, axis.name);
    }
  }
  return features;
}

void RunCommand::sort_words() {
  std::vector<std::string> models;
  for (const std::string& word : words_) {
    if (!is_study_word(word)) {
      models.push_back(word);
    } else if (study_file_.empty()) {
      study_file_ = word;
    } else {
      throw Error(ErrorKind::usage, fmt::format("unexpected second study '{}': run each study by itself", word));
    }
  }
  axes_.add_models(std::move(models));
}

int RunCommand::run() {
  sort_words();
  Study study = make_study();
  RunSettings settings = make_settings();
  const auto searches = [](const Grid& grid) { return grid.find_peak; };
  if (!peak_.is_asked() && std::any_of(study.grids.begin(), study.grids.end(), searches)) return run_parts(study, settings);
  if (peak_.is_asked()) set_up_peak_search(study, settings);
  return dry_run_ ? dry_run(study, settings) : execute_and_profile(study, settings);
}

// Runs a study file: first the grids that are not searches, then each grid that is one, into the same Store.
int RunCommand::run_parts(const Study& study, const RunSettings& settings) const {
  std::vector<std::pair<Study, RunSettings>> parts;
  Study rest = study;
  std::erase_if(rest.grids, [](const Grid& grid) { return grid.find_peak; });
  if (!rest.grids.empty()) parts.emplace_back(rest, settings);
  for (const Grid& grid : study.grids) {
    if (!grid.find_peak) continue;
    auto& [part, own] = parts.emplace_back(study, settings);
    part.grids = {grid};
    try {
      set_up_peak_search(part, own);
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("{}: {}", grid.place, error.what()));
    }
  }
  int worst = exit_ok;
  for (const auto& [part, own] : parts) {
    const int code = dry_run_ ? dry_run(part, own) : print_report(watched_run(part, own), own);
    worst = std::max(worst, code);
    if (code == exit_interrupted) return code;
  }
  return worst;
}

void RunCommand::set_up_peak_search(Study& study, RunSettings& settings) const {
  const auto budget = length_.budget();
  settings.peak = prepare_peak_search(study, peak_.flags(budget, settings.resume));
  if (budget) settings.search_time = budget;
}

int RunCommand::dry_run(const Study& study, const RunSettings& settings) const {
  const DryRun plan = plan_study(study, settings);
  if (plan.interrupted) return exit_interrupted;
  json_ ? fmt::print("{}", dry_run_json(plan, study.name)) : print_text(dry_run_text(plan));
  return exit_ok;
}

int RunCommand::execute_and_profile(const Study& study, const RunSettings& settings) const {
  const RunReport report = watched_run(study, settings);
  const int code = print_report(report, settings);
  take_profiles(report, settings);
  return code;
}

// Runs after all timing, when the results are shown: it takes some seconds for each point.
void RunCommand::take_profiles(const RunReport& report, const RunSettings& settings) const {
  if (!profile_ || report.interrupted || !report.store_error.empty()) return;
  flush_standard_output();
  const ProfiledPoints profiled = profile_points(report, settings);
  if (json_) return;
  fmt::print("{}{}; deepgap report shows them, deepgap export --profile writes them\n",
             count_of(static_cast<int64_t>(profiled.taken), "profile", "profiles"),
             profiled.had > 0 ? fmt::format(", {} had one already", count_of(static_cast<int64_t>(profiled.had), "point", "points")) : "");
}

// Windows of scenarios with a rate grow under a bound, those of slow queries until they have enough: only of a short one is it true.
bool any_short_window(const RunReport& report) {
  constexpr double short_s = 1;
  return std::any_of(report.points.begin(), report.points.end(), [](const PointSummary& point) {
    const MetricSummary* window = point.find("steady_s");
    return window != nullptr && window->estimate.value < short_s;
  });
}

int RunCommand::print_report(const RunReport& report, const RunSettings& settings) const {
  int code = report.failures.empty() ? exit_ok : exit_points_failed;
  if (report.interrupted) code = exit_interrupted;
  if (!report.store_error.empty()) code = exit_internal;
  const std::string json = run_json(report, settings, code);
  json_ ? fmt::print("{}", json) : print_text(run_text(report, settings, terminal_columns(stdout), length_.shown_percentiles()));
  flush_standard_output();
  for (const auto& feature : features_)
    if (const std::string note = feature->note(); !note.empty()) say(stderr, fmt::format("deepgap: note: {}\n", note));
  if (length_.is_quick() && any_short_window(report))
    say(stderr, "deepgap: note: --quick measures for at least half a second; its intervals may miss what lasts for seconds\n");
  print_ending(report, settings, json_);
  if (!json_ && !settings.peak) print_text(winners_text(report, terminal_columns(stdout)));
  run_flags_.keep_timings(report, settings);
  run_flags_.keep_json(json);  // last: if it cannot be written, the result has been shown all the same
  return code;
}

const bool registered = add_command<RunCommand>(
    {"run",
     {CommandGroup::measure, 1},
     "Measure models with engines on devices, and store the results",
     "  deepgap run resnet50\n"
     "  deepgap run a.onnx b.onnx -e native,openvino -b 1,8 --shape input:Nx3x224x224\n"
     "  deepgap run resnet50 -s server --rate 50,100 --slo p99=15ms   under load\n"
     "  deepgap run resnet50 -s server --slo p99=15ms --find-peak     highest load\n"
     "  deepgap run resnet50 --duel backend -e native,onnxruntime     which is faster\n"
     "  deepgap run studies/quickstart.toml --dry-run                 points and time\n",
     {"--backend", "--device", "--precision", "--batch", "--scenario", "--rate", "--slo", "--threads", "--duration", "--interval",
      "--budget", "--repeats", "--quick", "--duel", "--find-peak", "--dry-run", "--store", "--resume", "--json"}});

}  // namespace
}  // namespace deepgap
