// `deepgap run`: measures what a study file or flags ask for and writes the Records to a Store.
#include "analysis/duel/duels.h"
#include "analysis/interference.h"
#include "analysis/latency_percentile.h"
#include "analysis/words.h"
#include "base/console.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/axis_flags.h"
#include "cli/axis_values.h"
#include "cli/command.h"
#include "cli/peak_study.h"
#include "cli/profile_points.h"
#include "cli/run_flags.h"
#include "plan/auto_repeats.h"
#include "record/latency_percentiles.h"
#include "record/record_json.h"
#include "record/tenant_set.h"
#include "run/progress.h"
#include "run/read_in_child.h"
#include "run/run_study.h"
#include "run/winner.h"
#include "scenario/mlperf/run_options.h"
#include "worker/point_options.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

namespace deepgap {
namespace {

constexpr AxisFlag axis_flags[] = {
    {"-m,--model,--onnx", "model", "Zoo name (deepgap models) or ONNX file; a list makes an axis, as with all flags of this group"},
    {"-e,--backend", "backend", "Engine (deepgap backends)"},
    {"-d,--device", "device",
     "cpu, cuda:0; cuda:0+cuda:1 is one point on two devices; http://host:port and grpc://host:port are servers (docs/remote.md)"},
    {"-p,--precision", "precision", "fp32, ..."},
    {"-b,--batch,--batch-size", "batch", "Samples a query: 1,2,4 or 1..512*2"},
    {"-s,--scenario", "scenario", "How load is offered; they are listed below"},
    {"--rate", "rate", "Queries a second that are offered: server, constant, bursty"},
    {"--clients", "clients", "Clients that each wait for their answer: concurrency"},
    {"--trace", "trace", "File of arrival times: trace"},
    {"--reference", "reference", "ONNX file of the model that a server has, which its outputs are compared with (docs/remote.md)"},
    {"--bound", "bound", "Percentile of latency that a valid result holds: p99=15ms"},
    {"--dataset", "dataset", "seeded, zeros, pictures, crops, or a path"},
    {"--labels", "labels", "File of the dataset's labels, for accuracy_top1 and accuracy_top5 (docs/datasets.md)"},
    {"-w,--weights", "weights", "seeded, a named set (imagenet), or a safetensors file"},
    {"-t,--threads", "threads", "Of the engine; 0 or left out: the CPUs allowed here"},
    {"--streams", "streams", "Queries that a session can hold at a time"},
    {"--processes", "processes", "Processes that measure together, each on its share of the devices"},
    {"--instances", "instances", "Sessions on each device"},
    {"--max-batch", "max_batch", "Most samples that are joined to one batch (docs/dispatcher.md)"},
    {"--max-delay", "max_delay", "How long a query may wait for its batch to fill: 2ms"},
    {"--queue-limit", "queue_limit", "Queries that may wait for a session"},
    {"--shed", "shed", "Who goes when the queue is full: none, reject-newest, drop-oldest"},
    {"--end-to-end", "end_to_end", "off, serial, overlapped: queries begin with picture files that are decoded first (docs/end-to-end.md)"},
    {"--decode-threads", "decode_threads", "Threads that decode, end to end"},
    {"--mlperf", "mlperf", "MLPerf run by a round's seeds and rules: v5.0, v5.1, v6.0, v6.1; --rate is its target_qps (docs/mlperf.md)"},
    {"--mlperf-mode", "mlperf_mode", "performance, accuracy, or submission: both"},
    {"--mlperf-test", "mlperf_test", "TEST01 or TEST04 of MLPerf's audit"},
    {"--task", "task", "infer, or train: steps of forward, loss, backward and update (docs/training.md)"},
    {"--optimizer", "optimizer", "task train: sgd, momentum, adam, adamw"},
    {"--learning-rate", "learning_rate", "task train: of the optimizer"},
    {"--weight-decay", "weight_decay", "task train: of the optimizer"},
    {"--loss", "loss", "task train: cross-entropy, mse"},
    {"--loss-scale", "loss_scale", "task train: auto, off, or a number"},
    {"--accumulation", "accumulation", "task train: parts of a batch whose gradients are added up before the update"},
    {"--isa", "isa", "Most that the native engine may use: auto, avx2, avx512, avx512_vnni, avx512_bf16, amx"},
};

// What --axis takes besides the options of a backend and a scenario.
std::string axis_help() {
  std::string text = "Options for --axis, besides those of the engine (deepgap backends) and of the scenario:\n";
  for (const OptionInfo& option : worker_options()) text += fmt::format("  {:<21} {}\n", option.name, option.describe);
  text += "NAME.OPTION=LIST is for engine NAME alone.\n\nScenarios and their options (docs/load.md):\n";
  const auto& scenarios = Registry<Scenario>::instance();
  for (const std::string& name : scenarios.names()) {
    const auto scenario = scenarios.make("scenario", name);
    text += fmt::format("  {:<21} {}\n", name, scenario->describe());
    for (const ScenarioOption& option : scenario->options()) {
      text += fmt::format("    {:<19} {}{}\n", option.name, option.describe,
                          option.default_value.empty() ? "" : fmt::format(" ({})", option.default_value));
    }
  }
  return text;
}

std::string seconds_text(double seconds) { return format_duration(static_cast<int64_t>(seconds * 1e9)); }

class RunCommand final : public Command {
 public:
  std::string name() const override { return "run"; }
  std::string describe() const override { return "Measure what a study file or flags ask for, into a Store"; }
  std::string examples() const override;
  void declare(CLI::App& app) override;
  int run() override;

 private:
  Study make_study() const;
  Overrides make_overrides() const;
  bool repeats_are_auto() const { return repeats_ == "auto"; }
  std::optional<int> repeats() const;
  Nanoseconds quick_window() const;
  void add_conf_files(Overrides& overrides) const;
  void apply_scale(Study& study) const;
  std::vector<double> shown_percentiles() const;
  bool a_person_waits() const;
  RunSettings make_settings() const;
  void check_log_folder(const Study& study, bool resumes) const;
  PeakFlags peak_flags() const;
  void set_up_peak_search(Study& study, RunSettings& settings) const;
  int run_parts(const Study& study, const RunSettings& settings) const;
  int dry_run(const Study& study, const RunSettings& settings) const;
  int execute(const Study& study, const RunSettings& settings) const;
  int execute_and_profile(const Study& study, const RunSettings& settings) const;
  void take_profiles(const RunReport& report, const RunSettings& settings) const;
  std::string report_json(const RunReport& report, const RunSettings& settings, int code) const;
  int print_report(const RunReport& report, const RunSettings& settings) const;

  void sort_words();

  std::vector<std::string> words_;  // without a flag
  std::string study_file_;
  AxisFlags axes_;
  std::vector<std::string> tenants_;
  std::optional<std::string> duel_, margin_;
  std::optional<int64_t> warmup_, iterations_;
  std::optional<int> sweeps_;
  std::optional<std::string> repeats_;
  std::optional<std::string> duration_, min_duration_, budget_, interval_, percentile_, check_, study_name_;
  std::optional<uint64_t> seed_;
  std::string scale_, user_conf_, mlperf_conf_, audit_conf_, mlperf_log_, save_weights_;
  bool mlperf_trace_ = false, find_peak_ = false;
  std::optional<double> peak_from_;
  std::optional<std::string> peak_ratio_;
  RunFlags run_flags_;
  bool quick_ = false, energy_ = false, profile_ = false, dry_run_ = false, strict_ = false, json_ = false;
};

std::string RunCommand::examples() const {
  return "  deepgap run resnet50\n"
         "  deepgap run a.onnx b.onnx -e native,openvino -b 1,8 --shape input:Nx3x224x224\n"
         "  deepgap run resnet50 --scenario server --rate 50,100 --bound p99=15ms     latency under load\n"
         "  deepgap run resnet50 --scenario server --bound p99=15ms --find-peak       the most load that holds it\n"
         "  deepgap run resnet50 --duel backend -e native,onnxruntime                 which is faster, by how much\n"
         "  deepgap run studies/quickstart.toml --dry-run                             what it would do, and for how long\n";
}

void RunCommand::declare(CLI::App& app) {
  app.footer(axis_help);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("what", words_, "A study file (.toml), whose axes and settings flags replace, or models: zoo names or ONNX files")
      ->type_name("STUDY.toml|MODEL")
      ->take_all();
  const std::string what = "What to measure", how = "How long and how often", where = "Where and how it runs";
  axes_.declare(app, what, axis_flags);
  app.add_option("--tenant", tenants_,
                 "One of several that are measured together, and alone: model=resnet50,batch=8,scenario=server,rate=20 (docs/tenants.md); "
                 "what is not said is as the other flags say")
      ->group(what)
      ->type_name("LIST")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option(
         "--duel", duel_,
         "Axis whose values take short turns, all loaded, each against the first: backend, model, precision, ... (docs/duels.md); ends "
         "when it is told apart, at the latest after --budget (2 minutes)")
      ->group(what)
      ->type_name("AXIS");
  app.add_option("--margin", margin_, "Of a duel: a difference within it is none (2%)")->group(how)->type_name("2%");
  app.add_option("--warmup", warmup_, "Queries before the measured window; left out: until steady")->group(how)->type_name("N");
  app.add_option("-n,--iterations", iterations_, "Queries measured")->group(how)->type_name("N");
  app.add_option("--duration", duration_, "Length of the measured window")->group(how)->type_name("TIME");
  app.add_option("--min-duration", min_duration_, "Measured window not shorter than this, whatever ends it")->group(how)->type_name("TIME");
  app.add_option("--interval", interval_, "Measure until the 95 % interval is this narrow")->group(how)->type_name("1%");
  app.add_option("--percentile", percentile_,
                 "Whose interval --interval is about: p99; left out: throughput's. A list, 90,95,99, adds columns to the table")
      ->group(how)
      ->type_name("P");
  app.add_option("--budget", budget_, "Longest measured window; then the result is unstable")->group(how)->type_name("TIME");
  app.add_flag("--find-peak", find_peak_,
               "Find the largest load that holds --bound: the rate (server, constant, bursty), the batch (multi-stream) or the clients "
               "(concurrency); --budget is for the whole search (docs/load.md)")
      ->group(how);
  app.add_option("--peak-from", peak_from_, "First load of --find-peak; left out: a low one")->group(how)->type_name("LOAD");
  app.add_option("--peak-ratio", peak_ratio_, "How near --find-peak comes: 2%")->group(how)->type_name("SHARE");
  app.add_flag("--energy", energy_, "Measured window of 10 s at least: the steps of an energy counter are then under 1 %")->group(how);
  app.add_option(
         "-r,--repeats", repeats_,
         "Of each point, each in a process of its own; auto: as many as bring the interval over them to --interval, 30 at most, within "
         "--budget for all of them")
      ->group(how)
      ->type_name("N|auto");
  app.add_flag("--quick", quick_, "A look: windows of half a second, which do not see what lasts longer")->group(how);
  app.add_option("--sweeps", sweeps_, "Passes over the whole grid")->group(how)->type_name("N");
  app.add_option("--seed", seed_, "Of the order of measurement")->group(how)->type_name("N");
  run_flags_.declare(app, where);
  app.add_flag("--profile", profile_,
               "When all is timed: where the time of each point goes, layer by layer, beside its record (docs/profile.md)")
      ->group(where);
  app.add_flag("--dry-run", dry_run_,
               "List points, refusals and time; keep nothing. At a terminal the time is from short looks (docs/tour.md)")
      ->group(where);
  app.add_option("--scale", scale_, "Times and counts of MLPerf runs times this: short, and no MLPerf result")
      ->group(what)
      ->type_name("1%");
  app.add_option("--user-conf", user_conf_, "LoadGen's user.conf for an MLPerf run of one model and scenario")
      ->group(what)
      ->type_name("FILE");
  app.add_option("--mlperf-conf", mlperf_conf_, "LoadGen's mlperf.conf; left out: the round's rules as deepgap knows them")
      ->group(what)
      ->type_name("FILE");
  app.add_option("--audit-conf", audit_conf_, "LoadGen's audit.config, which holds before everything else")->group(what)->type_name("FILE");
  app.add_option("--mlperf-log", mlperf_log_, "LoadGen's log files of MLPerf runs go here")->group(where)->type_name("DIR");
  app.add_flag("--mlperf-trace", mlperf_trace_, "mlperf_log_trace.json among them")->group(where);
  app.add_option("--save-weights", save_weights_, "The weights that task train made go here; --weights FILE runs them")
      ->group(where)
      ->type_name("FILE.safetensors");
  app.add_option("--check", check_, "Compare outputs with the reference before timing")->group(where)->type_name("on|off");
  app.add_option("--study", study_name_, "Name of the study in the Records: --resume, report and export keep it apart")
      ->group(where)
      ->type_name("NAME");
  app.add_flag("--strict", strict_, "Unstable results count as failures too")->group(where);
  app.add_flag("--json", json_, "The summary as JSON, for programs")->group(where);
}

// What --repeats says; of auto as many as there may be.
std::optional<int> RunCommand::repeats() const {
  if (!repeats_) return std::nullopt;
  if (repeats_are_auto()) {
    if (duel_ || !tenants_.empty() || find_peak_ || !axes_.text("mlperf").empty())
      throw Error(ErrorKind::usage,
                  "--repeats auto is for points that are measured alone: give a number beside --duel, --tenant, --find-peak and --mlperf");
    if (iterations_ || duration_)
      throw Error(ErrorKind::usage,
                  "--repeats auto goes on until an interval is as narrow as --interval: leave out --iterations and --duration");
    return most_auto_repeats;
  }
  const auto number = parse_int(*repeats_);
  if (!number || *number < 1 || *number > 1'000'000)
    throw Error(ErrorKind::usage, fmt::format("--repeats '{}' is neither a number from 1 on nor auto", *repeats_));
  return static_cast<int>(*number);
}

Nanoseconds RunCommand::quick_window() const {
  if (iterations_ || duration_ || min_duration_ || energy_ || duel_ || !tenants_.empty())
    throw Error(ErrorKind::usage,
                "--quick is a window of half a second: leave out --iterations, --duration, --min-duration, --energy, --duel and --tenant");
  return 500'000'000;
}

Overrides RunCommand::make_overrides() const {
  Overrides overrides;
  overrides.axes = axes_.axes();
  add_conf_files(overrides);
  if (!axes_.text("mlperf").empty() && (iterations_ || duration_ || min_duration_ || budget_ || interval_ || percentile_)) {
    throw Error(ErrorKind::usage,
                "the round's rules end an MLPerf run: leave out --iterations, --duration, --min-duration, --budget, --interval and "
                "--percentile; --axis mlperf_min_duration=MS and --scale change the rules");
  }
  if (!tenants_.empty() && (iterations_ || interval_ || percentile_)) {
    throw Error(ErrorKind::usage,
                "tenants are measured in windows of one length: give --duration, and leave out --iterations, --interval and --percentile");
  }
  overrides.duel = duel_;
  if (margin_) {
    overrides.margin = parse_fraction(*margin_);
    if (!overrides.margin) throw Error(ErrorKind::usage, fmt::format("--margin '{}' is no share such as 2% or 0.02", *margin_));
    if (!duel_ && study_file_.empty()) throw Error(ErrorKind::usage, "--margin is of a duel: add --duel AXIS, or leave it out");
  }
  for (const std::string& text : tenants_) overrides.tenants.push_back(parse_tenant(text));
  overrides.repeats = repeats();
  overrides.sweeps = sweeps_;
  overrides.warmup = warmup_;
  overrides.iterations = iterations_;
  if (duration_) overrides.duration = duration_flag("--duration", *duration_);
  if (min_duration_) overrides.min_duration = duration_flag("--min-duration", *min_duration_);
  if (quick_) overrides.min_duration = quick_window();
  overrides.energy = energy_;
  if (budget_ && !repeats_are_auto()) overrides.budget = duration_flag("--budget", *budget_);
  if (interval_) {
    overrides.interval = parse_fraction(*interval_);
    if (!overrides.interval) throw Error(ErrorKind::usage, fmt::format("--interval '{}' is no share such as 1% or 0.01", *interval_));
  }
  if (shown_percentiles().empty()) overrides.target = percentile_;
  if (check_ && *check_ != "on" && *check_ != "off")
    throw Error(ErrorKind::usage, fmt::format("--check '{}' is neither on nor off", *check_));
  if (check_) overrides.check = *check_ == "on";
  return overrides;
}

ConfFile read_conf(const std::string& path) {
  read_in_child({{"kind", "conf"}, {"path", path}}, path, {});
  return ConfFile::parse(read_text(path), path);
}

// The files' settings as axes of one value; user.conf goes before mlperf.conf, a flag before both. An audit goes before all of them, and
// a flag that says something else of its settings is an error.
void RunCommand::add_conf_files(Overrides& overrides) const {
  const auto one_of = [&](const std::string& file, const char* axis) {
    const std::string given = axes_.text(axis);
    const auto values = given.empty() ? std::vector<std::string>() : parse_axis_values(given, axis);
    if (values.size() == 1) return values[0];
    throw Error(ErrorKind::usage, fmt::format("{} is read for one run: give one --mlperf, one --model and one --scenario", file));
  };
  std::map<std::string, std::string> options;
  if (!audit_conf_.empty()) {
    one_of(audit_conf_, "mlperf");
    options = options_of_audit(read_conf(audit_conf_), one_of(audit_conf_, "scenario"));
    for (const Axis& axis : overrides.axes) {
      if (options.contains(axis.name))
        throw Error(ErrorKind::usage, fmt::format("{} sets {}, and so does a flag: leave one of them out", audit_conf_, axis.name));
    }
  }
  for (const auto& [path, role] : {std::pair(user_conf_, ConfRole::user), std::pair(mlperf_conf_, ConfRole::rules)}) {
    if (path.empty()) continue;
    const auto one = [&, &file = path](const char* axis) { return one_of(file, axis); };
    one("mlperf");
    std::string benchmark = one("model");
    const Axis* named = find_axis(overrides.axes, "mlperf_model");
    if (named != nullptr && named->values.size() == 1) benchmark = named->values[0];
    options.merge(options_of_conf(read_conf(path), role, benchmark, one("scenario")));
  }
  for (const auto& [name, value] : options) {
    if (find_axis(overrides.axes, name) == nullptr) overrides.axes.push_back({name, {value}});
  }
}

// Of MLPerf runs by their rules; of what stands beside them in a study by its duration.
bool is_mlperf(const Grid& grid) { return find_axis(grid.axes, "mlperf") != nullptr; }

void RunCommand::apply_scale(Study& study) const {
  const auto share = parse_fraction(scale_);
  if (!share || !(*share > 0 && *share <= 1))
    throw Error(ErrorKind::usage, fmt::format("--scale '{}' is no share such as 1% or 0.01", scale_));
  bool any = false;
  for (Grid& grid : study.grids) {
    const bool mlperf = is_mlperf(grid);
    any |= mlperf;
    if (mlperf) {
      set_axis(grid.axes, {"mlperf_scale", {scale_}, {"--scale"}});
    } else if (grid.stopping.duration) {
      grid.stopping.duration = std::max<Nanoseconds>(1, static_cast<Nanoseconds>(static_cast<double>(*grid.stopping.duration) * *share));
    }
  }
  if (!any) throw Error(ErrorKind::usage, "--scale is for MLPerf runs: add --mlperf ROUND");
}

Study RunCommand::make_study() const {
  const Overrides overrides = make_overrides();
  if (study_file_.empty() && tenants_.empty() && find_axis(overrides.axes, "model") == nullptr)
    throw Error(ErrorKind::usage, "nothing to measure: name a model (deepgap models lists them), an ONNX file or a study file");
  Study study;
  if (!study_file_.empty()) {
    read_in_child({{"kind", "study"}, {"path", study_file_}}, study_file_, {});
    study = read_study(study_file_);
  }
  apply_overrides(study, overrides);
  if (!scale_.empty()) apply_scale(study);
  if (seed_) study.seed = *seed_;
  if (study_name_) study.name = *study_name_;
  return study;
}

// A list is of columns; one alone is what --interval is about.
std::vector<double> RunCommand::shown_percentiles() const {
  if (!percentile_ || percentile_->find(',') == std::string::npos) return {};
  std::vector<double> percents = parse_percentiles(*percentile_);
  for (const double percent : percents) {
    if (latency_metric_id(percent).empty())
      throw Error(ErrorKind::usage,
                  fmt::format("--percentile {:g} is no column of the table; deepgap export --percentile {:g} has it", percent, percent));
  }
  return percents;
}

// At a terminal, with one question and no rule of their own for how long it takes.
bool RunCommand::a_person_waits() const {
  const bool terminal = terminal_columns(stdout) > 0 && terminal_columns(stderr) > 0;
  const bool own_rule =
      warmup_ || iterations_ || duration_ || min_duration_ || energy_ || find_peak_ || json_ || quick_ || duel_ || repeats_are_auto();
  return terminal && !own_rule;
}

RunSettings RunCommand::make_settings() const {
  RunSettings settings = run_flags_.settings();
  settings.mlperf_log = mlperf_log_.empty() ? "" : std::filesystem::absolute(mlperf_log_).string();
  settings.mlperf_trace = mlperf_trace_;
  settings.save_weights = save_weights_.empty() ? "" : std::filesystem::absolute(save_weights_).string();
  if (profile_ && (duel_ || !tenants_.empty() || find_peak_ || !axes_.text("mlperf").empty() || axes_.text("task") == "train"))
    throw Error(
        ErrorKind::usage,
        "--profile is of points that are measured alone: leave it out with --duel, --tenant, --find-peak, --mlperf and --task train");
  if (mlperf_trace_ && mlperf_log_.empty()) throw Error(ErrorKind::usage, "--mlperf-trace needs a folder: add --mlperf-log DIR");
  settings.strict = strict_;
  settings.auto_repeats = repeats_are_auto();
  if (budget_ && settings.auto_repeats) settings.search_time = std::chrono::nanoseconds(duration_flag("--budget", *budget_));
  settings.own_study = study_name_.has_value();
  if (a_person_waits()) settings.first_look = std::chrono::seconds(3);
  return settings;
}

// A run of one Record writes into the folder itself, as LoadGen does; what another run left there is a result that its Record points to.
void RunCommand::check_log_folder(const Study& study, bool resumes) const {
  if (mlperf_log_.empty()) return;
  if (std::none_of(study.grids.begin(), study.grids.end(), is_mlperf))
    throw Error(ErrorKind::usage, "--mlperf-log is for MLPerf runs: add --mlperf ROUND, or leave it out");
  if (!resumes && std::filesystem::exists(mlperf_log_ + "/mlperf_log_summary.txt"))
    throw Error(ErrorKind::usage,
                fmt::format("--mlperf-log {} has the logs of an earlier run, which would be lost: name another folder", mlperf_log_));
}

void RunCommand::sort_words() {
  std::vector<std::string> models;
  for (const std::string& word : words_) {
    if (!is_study_word(word)) {
      models.push_back(word);
    } else if (study_file_.empty()) {
      study_file_ = word;
    } else {
      throw Error(ErrorKind::usage, fmt::format("'{}' is one study too many: each has a run of its own", word));
    }
  }
  axes_.add_models(std::move(models));
}

int RunCommand::run() {
  sort_words();
  Study study = make_study();
  RunSettings settings = make_settings();
  check_log_folder(study, settings.resume);
  const auto searches = [](const Grid& grid) { return grid.find_peak; };
  if (!find_peak_ && std::any_of(study.grids.begin(), study.grids.end(), searches)) return run_parts(study, settings);
  set_up_peak_search(study, settings);
  return dry_run_ ? dry_run(study, settings) : execute_and_profile(study, settings);
}

// Of a study file: what is no search first, then each grid that is one, into the same Store.
int RunCommand::run_parts(const Study& study, const RunSettings& settings) const {
  if (profile_) throw Error(ErrorKind::usage, "--profile is for a study without find_peak, whose searches would be timed after it");
  if (json_) throw Error(ErrorKind::usage, "--json tells of one search or of a grid: leave it out for a study with find_peak");
  std::vector<std::pair<Study, RunSettings>> parts;
  Study rest = study;
  std::erase_if(rest.grids, [](const Grid& grid) { return grid.find_peak; });
  if (!rest.grids.empty()) parts.emplace_back(rest, settings);
  for (const Grid& grid : study.grids) {
    if (!grid.find_peak) continue;
    auto& [part, own] = parts.emplace_back(study, settings);
    part.grids = {grid};
    try {
      own.peak = prepare_peak_search(part, peak_flags());
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("{}: {}", grid.place, error.what()));
    }
    if (budget_) own.search_time = std::chrono::nanoseconds(duration_flag("--budget", *budget_));
  }
  int worst = exit_ok;
  for (const auto& [part, own] : parts) {
    const int code = dry_run_ ? dry_run(part, own) : execute(part, own);
    worst = std::max(worst, code);
    if (code == exit_interrupted) return code;
  }
  return worst;
}

void RunCommand::set_up_peak_search(Study& study, RunSettings& settings) const {
  if (!find_peak_) {
    if (peak_from_ || peak_ratio_) throw Error(ErrorKind::usage, "--peak-from and --peak-ratio are of a peak search: add --find-peak");
    return;
  }
  settings.peak = prepare_peak_search(study, peak_flags());
  if (budget_) settings.search_time = std::chrono::nanoseconds(duration_flag("--budget", *budget_));
}

PeakFlags RunCommand::peak_flags() const {
  PeakFlags flags;
  flags.from = peak_from_;
  if (peak_ratio_) {
    const auto ratio = parse_fraction(*peak_ratio_);
    if (!ratio) throw Error(ErrorKind::usage, fmt::format("--peak-ratio '{}' is no share such as 2% or 0.02", *peak_ratio_));
    flags.ratio = *ratio;
  }
  return flags;
}

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
                    {"above_runs", result.above_runs}});
  }
  return list;
}

void print_tenants(const RunReport& report) {
  for (const TenantSet& set : tenant_sets(report.points)) {
    fmt::print("{}:\n", set.label());
    for (const TenantInterference& tenant : set.tenants) fmt::print("  {}\n", interference_words(tenant));
    if (const std::string work = work_words(set); !work.empty()) fmt::print("  {}\n", work);
  }
}

void print_duels(const RunReport& report) {
  const std::vector<DuelFound> duels = duels_of(report.points);
  for (const DuelFound& duel : duels) {
    if (duels.size() > 1) fmt::print("{}:\n", duel.label());
    for (const DuelOutcome& outcome : duel.others) fmt::print("{}{}\n", duels.size() > 1 ? "  " : "", outcome.words);
  }
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

int RunCommand::dry_run(const Study& study, const RunSettings& settings) const {
  const DryRun plan = plan_study(study, settings);
  if (plan.interrupted) return exit_interrupted;
  if (json_) {
    nlohmann::json json{{"study", study.name}, {"seconds", plan.seconds}, {"points", nlohmann::json::array()}};
    for (const PlannedPoint& planned : plan.points) {
      json["points"].push_back({{"point_id", planned.point_id},
                                {"point", point_to_json(planned.point)},
                                {"repeats", planned.repeats},
                                {"done", planned.done_before},
                                {"plan", planned.skipped   ? "skip"
                                         : planned.refused ? "refuse"
                                                           : "run"},
                                {"reason", planned.reason},
                                {"seconds", planned.seconds}});
      if (!planned.search.empty()) json["points"].back()["search"] = planned.search;
    }
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return exit_ok;
  }
  size_t refused = 0, skipped = 0;
  int records = 0;
  for (const PlannedPoint& planned : plan.points) {
    refused += planned.refused ? 1 : 0;
    skipped += planned.skipped ? 1 : 0;
    records += planned.repeats - planned.done_before;
    std::string fate = planned.skipped   ? "skipped: " + planned.reason
                       : planned.refused ? "refused: " + planned.reason
                                         : "about " + seconds_text(planned.seconds);
    if (!planned.search.empty()) {
      fate = planned.search;
    } else if (planned.repeats > 1) {
      fate = fmt::format("{} repeats, {}", planned.repeats, fate);
    }
    if (planned.done_before > 0) fate = fmt::format("{} in the Store already, {}", planned.done_before, fate);
    fmt::print("{}: {}\n", point_label(planned.point), fate);
  }
  fmt::print("{} points, {} records to make, {} refused, {} skipped; about {}\n", plan.points.size(), records, refused, skipped,
             seconds_text(plan.seconds));
  return exit_ok;
}

int RunCommand::execute(const Study& study, const RunSettings& settings) const {
  return print_report(run_study(study, settings), settings);
}

int RunCommand::execute_and_profile(const Study& study, const RunSettings& settings) const {
  const RunReport report = run_study(study, settings);
  const int code = print_report(report, settings);
  take_profiles(report, settings);
  return code;
}

// When nothing is timed any more and the results are told: it takes some seconds for each point.
void RunCommand::take_profiles(const RunReport& report, const RunSettings& settings) const {
  if (!profile_ || report.interrupted || !report.store_error.empty()) return;
  flush_standard_output();
  const ProfiledPoints profiled = profile_points(report, settings);
  if (json_) return;
  fmt::print("{}{}; deepgap report shows them, deepgap export --profile writes them\n",
             count_of(static_cast<int64_t>(profiled.taken), "profile", "profiles"),
             profiled.had > 0 ? fmt::format(", {} had one", count_of(static_cast<int64_t>(profiled.had), "point", "points")) : "");
}

std::string RunCommand::report_json(const RunReport& report, const RunSettings& settings, int code) const {
  nlohmann::json json{{"run_id", report.run_id},
                      {"store", settings.store_path},
                      {"exit_code", code},
                      {"records", report.saved},
                      {"done_before", report.done_before},
                      {"planned", report.jobs},
                      {"strict", strict_},
                      {"interrupted", report.interrupted},
                      {"points", summary_json(report.points)},
                      {"store_error", report.store_error},
                      {"failures", nlohmann::json::array()}};
  if (settings.peak) json["peaks"] = peaks_json(report, settings);
  if (const nlohmann::json tenants = tenants_json(report); !tenants.empty()) json["tenants"] = tenants;
  if (const nlohmann::json duels = duels_json(report); !duels.empty()) json["duels"] = duels;
  for (const Failure& failure : report.failures)
    json["failures"].push_back({{"point", failure.label}, {"repeat", failure.repeat + 1}, {"result", failure.text}});
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// The last words: which engine won.
void print_winners(const RunReport& report) {
  constexpr size_t most = 4;
  const std::vector<std::string> lines = winner_lines(report.points);
  for (size_t i = 0; i < std::min(most, lines.size()); ++i) fmt::print("{}\n", lines[i]);
  if (lines.size() > most) fmt::print("and {} more models, of which the report tells\n", lines.size() - most);
}

int RunCommand::print_report(const RunReport& report, const RunSettings& settings) const {
  int code = report.failures.empty() ? exit_ok : exit_points_failed;
  if (report.interrupted) code = exit_interrupted;
  if (!report.store_error.empty()) code = exit_internal;
  const std::string json = report_json(report, settings, code);
  run_flags_.keep_json(json);
  if (json_) {
    fmt::print("{}", json);
  } else if (!report.points.empty()) {
    fmt::print("{}", summary_table(report.points, terminal_columns(stdout), shown_percentiles()));
    print_tenants(report);
    print_duels(report);
    for (const FoundPeak& found : report.peaks) {
      if (found.result.ending != PeakResult::Ending::confirmed) continue;  // told as a failure
      fmt::print("{}: {}\n", point_label(found.point), peak_text(found, *settings.peak));
    }
    if (!report.failures.empty() && !settings.peak)
      fmt::print("{} of {} records cannot be used:\n", report.failures.size(), report.saved + report.done_before);
    for (const std::string& line : failure_lines(report.failures, report.repeated)) fmt::print("  {}\n", line);
  }
  flush_standard_output();
  if (!scale_.empty()) say(stderr, "deepgap: note: --scale makes short runs; none of them is an MLPerf result, whatever its verdict\n");
  if (quick_) say(stderr, "deepgap: note: --quick looks for half a second; what lasts longer is not in its intervals\n");
  print_ending(report, settings, json_);
  if (!json_ && !settings.peak) print_winners(report);
  return code;
}

const bool registered = Registry<Command>::instance().add("run", [] { return std::make_unique<RunCommand>(); });

}  // namespace
}  // namespace deepgap
