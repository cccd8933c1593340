// `deepgap fleet`: a Study on other machines, through a Scheduler (docs/how-to/run-on-a-cluster.md).
#include "base/console.h"
#include "base/file.h"
#include "base/messages.h"
#include "base/registry.h"
#include "base/text.h"
#include "cli/axis_values.h"
#include "cli/command.h"
#include "cli/fleet/fleet_text.h"
#include "cli/lock_settings.h"
#include "cli/price_flag.h"
#include "cli/run_flags.h"
#include "fleet/bundle.h"
#include "fleet/gather.h"
#include "fleet/lanes.h"
#include "fleet/plan_fleet.h"
#include "fleet/relay.h"
#include "fleet/task.h"
#include "record/point_command.h"
#include "run/interrupts.h"
#include "run/progress.h"
#include "run/read_in_child.h"
#include "telemetry/environment.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> verbs{"status", "wait", "cancel", "gather", "submit"};
const std::vector<std::string> verbs_of_schedulers{"task", "probe", "relay"};  // what they call on nodes

bool is_in(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

class FleetCommand final : public Command {
 public:
  void declare(CLI::App& app) override;
  int run() override;

 private:
  void declare_how(CLI::App& app, const std::string& group);
  void declare_cut(CLI::App& app, const std::string& group);
  void declare_schedulers(CLI::App& app, const std::string& group);
  int start();
  int go_on(const std::string& verb);
  void submit_new(const PlannedFleet& planned, Scheduler& scheduler);
  void submit(const Fleet& fleet, Scheduler& scheduler);
  int wait_for(const Fleet& fleet, Scheduler& scheduler);
  int gather(const Fleet& fleet, Scheduler& scheduler) const;
  int print_status(const Fleet& fleet, Scheduler& scheduler) const;
  std::unique_ptr<Scheduler> scheduler_of_flag() const;
  Fleet asked() const;
  std::string store_of(const Fleet& fleet) const { return store_.empty() ? fleet.folder + "/gathered.db" : store_; }

  std::vector<std::string> words_;
  std::string scheduler_ = "local", folder_, store_, bundle_, cache_, timeout_ = "60s", task_time_ = "10m", hand_in_ = "5s", device_kind_,
              work_, prices_, directory_;
  std::map<std::string, std::string> options_;
  int cpus_ = 0, most_tasks_ = 0, common_runs_ = 2, submissions_ = 3, tries_ = 6;
  bool dry_run_ = false, detach_ = false, json_ = false, absolute_paths_ = false, quiet_ = false;
};

void FleetCommand::declare(CLI::App& app) {
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("what", words_, "Study file (.toml); or status, wait, cancel, gather or submit, and the fleet's folder")
      ->type_name("STUDY.toml|VERB FOLDER")
      ->required()
      ->expected(1, 4);
  declare_how(app, "How it runs");
  declare_cut(app, "How the study is cut into tasks");
  declare_schedulers(app, "Scheduler options");
  app.add_flag("-q,--quiet", quiet_, "Print no progress");
  app.add_flag("--json", json_, "Print status, dry run and gathered results as JSON");
}

void FleetCommand::declare_how(CLI::App& app, const std::string& group) {
  app.add_option("--scheduler", scheduler_, "Scheduler: " + join(Registry<Scheduler>::instance().names(), ", "))
      ->group(group)
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--fleet", folder_, "Folder of the fleet, on a disk that all nodes see [default: STUDY.fleet]")
      ->group(group)
      ->type_name("DIR");
  app.add_option("-o,--store", store_, "Gather results into this store [default: gathered.db in the fleet's folder]")
      ->group(group)
      ->type_name("FILE");
  app.add_option("--bundle", bundle_, "Archive of deepgap that each node unpacks on its own disk [default: this program, on a shared disk]")
      ->group(group)
      ->type_name("FILE");
  app.add_option("--directory", directory_,
                 "Run tasks in this folder, which relative paths of the study start from [default: the current folder]")
      ->group(group)
      ->type_name("DIR");
  app.add_flag("--detach", detach_, "Submit and return at once; `deepgap fleet wait` continues")->group(group);
  app.add_flag("--dry-run", dry_run_, "Show tasks, time and cost; submit nothing")->group(group);
  app.add_option("--submissions", submissions_, "Let `wait` submit lost tasks again up to this many times")
      ->group(group)
      ->type_name("N")
      ->capture_default_str();
  declare_prices(app, prices_);
}

void FleetCommand::declare_cut(CLI::App& app, const std::string& group) {
  app.add_option("--cpus-per-task", cpus_, "CPUs of a task, which threads = 0 stands for [default: what every node has]")
      ->group(group)
      ->type_name("N");
  app.add_option("--task-time", task_time_, "Target length of a task")->group(group)->type_name("TIME")->capture_default_str();
  app.add_option("--most-tasks", most_tasks_, "Make at most this many tasks, each longer")->group(group)->type_name("N");
  app.add_option("--common-runs", common_runs_,
                 "Let each task measure one point of each network this many times, to compare nodes; 0: no comparison")
      ->group(group)
      ->type_name("N")
      ->check(CLI::Range(0, 100).description(""))
      ->capture_default_str();
  app.add_option("--device-kind", device_kind_, "Require these words in the name of the device; other nodes measure nothing")
      ->group(group)
      ->type_name("WORDS");
  app.add_option("--hand-in", hand_in_, "Write results back at most this often")->group(group)->type_name("TIME")->capture_default_str();
  app.add_option("--timeout", timeout_, "Stop a worker that makes no progress for this long")
      ->group(group)
      ->type_name("TIME")
      ->capture_default_str();
  app.add_option("--cache", cache_, "Keep references and compiled models in this folder on each node [default: ~/.cache/deepgap]")
      ->group(group)
      ->type_name("DIR");
  app.add_flag("--absolute-paths", absolute_paths_, "Keep the study's absolute paths, which are the same on all nodes")->group(group);
  app.add_option("--work", work_, "Work in this folder on the node's own disk [default: $TMPDIR, else /tmp]")
      ->group(group)
      ->type_name("DIR");
  app.add_option("--tries", tries_, "Try this many times to write the last results of a task back, with growing pauses")
      ->group(group)
      ->type_name("N")
      ->capture_default_str();
}

// An option that several have is one.
void FleetCommand::declare_schedulers(CLI::App& app, const std::string& group) {
  for (const std::string& name : Registry<Scheduler>::instance().names()) {
    for (const SchedulerOption& option : Registry<Scheduler>::instance().make("scheduler", name)->options()) {
      if (!options_.try_emplace(option.name).second) continue;
      app.add_option(fmt::format("--{}", option.name), options_[option.name], option.describe)->group(group)->type_name(option.value);
    }
  }
}

double seconds_flag(const std::string& flag, const std::string& text) { return static_cast<double>(duration_flag(flag, text)) / 1e9; }

std::unique_ptr<Scheduler> FleetCommand::scheduler_of_flag() const {
  const auto& schedulers = Registry<Scheduler>::instance();
  if (!schedulers.contains(scheduler_)) throw Error(ErrorKind::usage, invalid_choice(scheduler_, "--scheduler", schedulers.names()));
  return schedulers.make("scheduler", scheduler_);
}

int FleetCommand::run() {
  const std::string& first = words_.front();
  if (is_in(verbs, first) || is_in(verbs_of_schedulers, first)) return go_on(first);
  if (words_.size() > 1)
    throw Error(
        ErrorKind::usage,
        fmt::format("'{}' is {}: give a study, or one of {} and a fleet's folder", words_[1],
                    is_study_word(first) ? "an unexpected argument" : "after '" + first + "', which is not a verb", join(verbs, ", ")));
  if (!is_study_word(first)) throw Error(ErrorKind::usage, unknown_name("verb", first, verbs) + "; the name of a study ends in .toml");
  return start();
}

// Returns what the user said; the scheduler and the plan complete it.
Fleet FleetCommand::asked() const {
  Fleet fleet;
  const std::string name = fs::path(words_.front()).stem().string();
  fleet.folder = fs::absolute(folder_.empty() ? name + ".fleet" : folder_).lexically_normal().string();
  fleet.study_file = fs::absolute(words_.front()).string();
  fleet.scheduler = scheduler_;
  fleet.directory = directory_.empty() ? fs::current_path().string() : fs::absolute(directory_).string();
  fleet.bundle = bundle_.empty() ? "" : fs::absolute(bundle_).string();
  if (!bundle_.empty()) require_bundle(bundle_);
  fleet.program = fs::read_symlink("/proc/self/exe").string();
  fleet.cache = cache_.empty() ? "" : fs::absolute(cache_).string();
  fleet.device_kind = device_kind_;
  duration_flag("--timeout", timeout_);
  fleet.timeout = timeout_;
  fleet.hand_in_s = seconds_flag("--hand-in", hand_in_);
  if (cpus_ < 0)
    throw Error(ErrorKind::usage, invalid_value(std::to_string(cpus_), "--cpus-per-task", "a number of at least 1, such as 8"));
  fleet.cpus = cpus_ > 0 ? cpus_ : static_cast<int>(allowed_cpus().size());
  const auto scheduler = scheduler_of_flag();
  const auto known = scheduler->options();
  for (const auto& [option, value] : options_) {
    if (value.empty()) continue;
    const bool is_its = std::any_of(known.begin(), known.end(), [&, &o = option](const SchedulerOption& one) { return o == one.name; });
    if (!is_its) throw Error(ErrorKind::usage, fmt::format("scheduler {1} has no option --{0}", option, scheduler_));
    fleet.options[option] = value;
  }
  if (cpus_ > 0) fleet.options["cpus-per-task"] = std::to_string(cpus_);
  if (absolute_paths_) fleet.options["absolute-paths"] = "yes";
  return fleet;
}

int FleetCommand::start() {
  const auto scheduler = scheduler_of_flag();
  read_in_child({{"kind", "study"}, {"path", words_.front()}}, words_.front(), {});
  const Study study = read_study(words_.front());
  RunSettings settings;
  settings.cache_dir = cache_.empty() ? default_cache_dir() : fs::absolute(cache_).string();
  CutSettings cut{seconds_flag("--task-time", task_time_), most_tasks_, common_runs_};
  std::optional<PlannedFleet> planned = plan_fleet(study, asked(), cut, *scheduler, settings);
  if (!planned) return exit_interrupted;
  for (const std::string& note : planned->notes) say(stderr, fmt::format("deepgap: note: {}\n", note));
  if (dry_run_) {
    for (const std::string& note : scheduler->rehearse(planned->fleet)) say(stderr, fmt::format("deepgap: note: {}\n", note));
    const Prices prices = prices_of_flag(prices_);
    json_ ? fmt::print("{}", plan_json(*planned, prices)) : print_text(plan_text(*planned, prices, terminal_columns(stdout)));
    return exit_ok;
  }
  const Fleet& fleet = planned->fleet;
  submit_new(*planned, *scheduler);
  if (!json_)
    print_text(fmt::format("submitted {} tasks with {} records to {}; the fleet's folder is {}\n", fleet.tasks.size(), fleet.records(),
                           scheduler_, fleet.folder));
  flush_standard_output();
  if (detach_) {
    if (!json_) print_text(fmt::format("next: deepgap fleet wait {}\n", shell_quoted(fleet.folder)));
    return exit_ok;
  }
  return wait_for(fleet, *scheduler);
}

int FleetCommand::go_on(const std::string& verb) {
  if (words_.size() < 2) throw Error(ErrorKind::usage, fmt::format("deepgap fleet {} needs the fleet's folder", verb));
  const Fleet fleet = read_fleet(words_[1]);
  if (is_in(verbs_of_schedulers, verb)) {
    const auto number = parse_int(words_.size() > 2 ? words_[2] : "");
    if (!number) throw Error(ErrorKind::usage, fmt::format("usage: deepgap fleet {} FOLDER NUMBER", verb));
    if (verb == "relay") return relay_task(fleet, words_.size() > 3 ? words_[3] : "", static_cast<int>(*number));
    const TaskSettings settings{.work = work_, .tries = tries_, .locks = lock_settings()};
    return verb == "task" ? run_task(fleet, static_cast<int>(*number), settings) : probe_node(fleet, static_cast<int>(*number), settings);
  }
  const auto scheduler = Registry<Scheduler>::instance().make("scheduler", fleet.scheduler);
  if (verb == "status") return print_status(fleet, *scheduler);
  if (verb == "gather") {
    scheduler->gather(fleet);
    return gather(fleet, *scheduler);
  }
  if (verb == "cancel") {
    mark_cancelled(fleet, true);
    scheduler->cancel(fleet);
    print_status(fleet, *scheduler);
    return exit_ok;
  }
  if (verb == "submit") mark_cancelled(fleet, false);
  submit(fleet, *scheduler);
  if (verb == "submit" && detach_) return exit_ok;
  return wait_for(fleet, *scheduler);
}

// A folder of which nothing was taken is not kept: it would be in the way of the command that asks for what can be had.
void FleetCommand::submit_new(const PlannedFleet& planned, Scheduler& scheduler) {
  const Fleet& fleet = planned.fleet;
  const bool was_there = fs::exists(fleet.folder);
  write_fleet(fleet, planned.jobs);
  try {
    write_file_atomic(fleet.folder + "/study.toml", read_text(words_.front()));
    submit(fleet, scheduler);
  } catch (const Error& error) {
    if (scheduler.may_have_taken(fleet)) throw;
    remove_fleet(fleet, !was_there);
    throw Error(error.kind(), fmt::format("{}; nothing was submitted", error.what()));
  }
}

// One at a time, so that no task is submitted twice.
void FleetCommand::submit(const Fleet& fleet, Scheduler& scheduler) {
  if (is_cancelled(fleet)) return;
  FileDescriptor lock;
  for (int i = 0; i < 600 && !lock.valid(); ++i) {
    lock = try_lock(fleet.folder + "/submit.lock");
    if (!lock.valid()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  if (!lock.valid())
    throw Error(ErrorKind::input,
                fmt::format("another process has been submitting tasks of {} for a minute; try again later", fleet.folder));
  const FleetStatus status = status_of(fleet, read_attempts(fleet), scheduler.list(fleet));
  if (!status.missing.empty()) scheduler.submit(fleet, status.missing);
}

int FleetCommand::wait_for(const Fleet& fleet, Scheduler& scheduler) {
  Interrupts interrupts;
  std::string last_line;
  int submissions = 1, done = -1;  // submissions since the last task ended well
  for (;;) {
    scheduler.wait(fleet, [&] { return interrupts.count() > 0; });
    if (interrupts.count() > 0) {
      scheduler.leave(fleet);
      say(stderr,
          fmt::format("deepgap: interrupted; deepgap fleet wait {} continues, deepgap fleet cancel ends it\n", shell_quoted(fleet.folder)));
      return exit_interrupted;
    }
    scheduler.gather(fleet);
    const FleetStatus status = status_of(fleet, read_attempts(fleet), scheduler.list(fleet));
    const std::string line = status_line(fleet, status);
    if (!quiet_ && line != last_line) say(stderr, line + "\n");
    last_line = line;
    if (status.all_done(fleet)) break;
    if (std::exchange(done, status.done) != status.done) submissions = 1;
    if (status.running + status.waiting > 0) continue;
    if (is_cancelled(fleet) || status.missing.empty() || submissions >= submissions_) break;
    ++submissions;
    submit(fleet, scheduler);
  }
  scheduler.leave(fleet);
  return gather(fleet, scheduler);
}

int FleetCommand::gather(const Fleet& fleet, Scheduler& scheduler) const {
  Interrupts interrupts;
  const std::string store = store_of(fleet);
  const std::vector<Attempt> attempts = read_attempts(fleet);
  const FleetStatus status = status_of(fleet, attempts, scheduler.list(fleet));
  const auto gathered = gather_fleet(fleet, store, [&] { return interrupts.count() > 0; });
  if (!gathered) return exit_interrupted;
  json_ ? fmt::print("{}", gathered_json(fleet, status, *gathered, store)) : print_wrapped(gathered_text(fleet, status, *gathered, store));
  return gathered->there >= gathered->planned ? exit_ok : exit_points_failed;
}

int FleetCommand::print_status(const Fleet& fleet, Scheduler& scheduler) const {
  const std::vector<Attempt> attempts = read_attempts(fleet);
  const FleetStatus status = status_of(fleet, attempts, scheduler.list(fleet));
  const std::vector<std::string> notes = node_notes(fleet, attempts);
  json_ ? fmt::print("{}", status_json(fleet, status, notes)) : print_wrapped(status_text(fleet, status, notes));
  return status.missing.empty() && status.held == 0 ? exit_ok : exit_points_failed;
}

const bool registered = add_command<FleetCommand>({"fleet",
                                                   {CommandGroup::measure, 4},
                                                   "Measure a study on other machines: a local queue, ssh hosts, or Slurm",
                                                   "  deepgap fleet study.toml --scheduler local\n"
                                                   "  deepgap fleet study.toml --scheduler slurm --constraint h100,a100 --dry-run\n"
                                                   "  deepgap fleet status study.fleet   at any time; also wait, gather, cancel, submit\n",
                                                   {"--scheduler", "--fleet", "--store", "--detach", "--dry-run", "--task-time", "--prices",
                                                    "--json", "--partition", "--constraint", "--hosts"},
                                                   {"cancel", "gather", "status", "submit", "wait"}});

}  // namespace
}  // namespace deepgap
