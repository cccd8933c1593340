#include "fleet/task.h"

#include "base/console.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "fleet/hand_in.h"
#include "record/identity.h"
#include "record/record_json.h"
#include "run/run_study.h"
#include "store/store.h"
#include "telemetry/environment.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <thread>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

std::string environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Removed with all that is in it, unless it is kept.
class WorkFolder {
 public:
  explicit WorkFolder(const std::string& base) : path_(base + "/deepgap-task-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr)
      throw Error(ErrorKind::input, fmt::format("cannot make a folder in {}: {}; name another with --work", base, std::strerror(errno)));
  }
  ~WorkFolder() {
    std::error_code ignored;
    if (!kept_) fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  void keep() { kept_ = true; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool kept_ = false;
};

std::string default_work() {
  const std::string temporary = environment_value("TMPDIR");
  return temporary.empty() ? "/tmp" : temporary;
}

// Returns what other attempts, and this one before it was begun again, have handed in.
std::set<std::pair<std::string, int>> handed_in(const Fleet& fleet, int task) {
  std::set<std::pair<std::string, int>> finished;
  for (const std::string& part : parts_of_task(fleet, task)) {
    try {
      finished.merge(Store(part, Store::Mode::read).finished());
    } catch (const Error& error) {
      say(stderr, fmt::format("deepgap: note: {}; what it has is measured again\n", error.what()));
    }
  }
  return finished;
}

Attempt begin_attempt(int task) {
  Attempt attempt;
  attempt.id = random_id().substr(0, 8);
  attempt.task = task;
  attempt.node = node_name();
  attempt.began_unix = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  attempt.job = environment_value("SLURM_ARRAY_JOB_ID").empty()
                    ? environment_value("SLURM_JOB_ID")
                    : environment_value("SLURM_ARRAY_JOB_ID") + "_" + environment_value("SLURM_ARRAY_TASK_ID");
  attempt.restart = static_cast<int>(parse_int(environment_value("SLURM_RESTART_COUNT")).value_or(0));
  return attempt;
}

// Throws if the node lacks the CPUs that the plan was made for.
void require_cpus(const Fleet& fleet, const std::string& node) {
  const auto cpus = static_cast<int>(allowed_cpus().size());
  if (cpus >= fleet.cpus) return;
  throw Error(ErrorKind::input, fmt::format("{} allows {} {}, and the plan was made for {}: ask for more, or plan with --cpus-per-task {}",
                                            node, cpus, cpus == 1 ? "CPU" : "CPUs", fleet.cpus, cpus));
}

class TaskRun {
 public:
  TaskRun(const Fleet& fleet, int task, const TaskSettings& settings)
      : fleet_(fleet),
        settings_(settings),
        attempt_(begin_attempt(task)),
        folder_(settings.work.empty() ? default_work() : settings.work),
        hand_in_(fleet, attempt_, folder_.path(), folder_.path() + "/run.db") {}

  int run() {
    make_directories(fleet_.parts_of(attempt_.task));
    hand_in_.tell();
    int code = 0;
    try {
      code = measure();
    } catch (const Error& error) {
      return fail(error.what(), error.kind() == ErrorKind::usage || error.kind() == ErrorKind::input ? 2 : 3);
    }
    return code;
  }

 private:
  int measure() {
    require_cpus(fleet_, attempt_.node);
    std::vector<Job> jobs = read_task(fleet_, attempt_.task);
    const auto finished = handed_in(fleet_, attempt_.task);
    std::erase_if(jobs, [&](const Job& job) { return finished.count({job.point_id, job.repeat}) != 0; });
    if (jobs.empty()) return hand_in_the_whole();
    Study study;
    study.name = fleet_.study;
    study.seed = fleet_.seed + static_cast<uint64_t>(attempt_.task);
    const RunReport report = run_study(study, run_settings(std::move(jobs)));
    std::signal(SIGTERM, SIG_IGN);  // what was measured is handed in before the end that is asked for
    if (!report.store_error.empty()) return fail(report.store_error, 3);
    return report.interrupted ? end_early() : hand_in_the_whole();
  }

  RunSettings run_settings(std::vector<Job> jobs) {
    RunSettings settings;
    settings.store_path = folder_.path() + "/run.db";
    settings.cache_dir = fleet_.cache.empty() ? default_cache_dir() : fleet_.cache;
    settings.timeout = std::chrono::nanoseconds(parse_duration(fleet_.timeout).value_or(60'000'000'000));
    settings.cpus = fleet_.cpus;
    settings.progress = settings_.progress;
    settings.locks = settings_.locks;
    settings.part = std::move(jobs);
    settings.facts = {{fleet_node_fact, attempt_.node}, {"fleet.task", int64_t{attempt_.task}}, {"fleet.id", fleet_.id}};
    settings.saved = [this](const Record& record) { saved(record); };
    return settings;
  }

  void saved(const Record& record) {
    if (attempt_.device.empty()) look_at_device(record);
    if (record.outcome != Outcome::interrupted) ++attempt_.records;
    keep_common(record);
    hand_in_.in_time();
  }

  void keep_common(const Record& record) {
    const std::string& common = fleet_.task_group_of(attempt_.task).common;
    const auto throughput = record.estimates.find("throughput");
    if (common.empty() || record.outcome != Outcome::ok || throughput == record.estimates.end()) return;
    if (point_id(record.point) == common) attempt_.common.push_back(throughput->second.value);
  }

  void look_at_device(const Record& record) {
    attempt_.device = identity_of(record).device;
    if (attempt_.device.empty() || fleet_.device_kind.empty() || attempt_.device.find(fleet_.device_kind) != std::string::npos) return;
    throw Error(ErrorKind::input,
                fmt::format("{} has {}, not {}: nothing was measured", attempt_.node, attempt_.device, fleet_.device_kind));
  }

  int end_early() {
    attempt_.state = Attempt::State::interrupted;
    attempt_.reason = attempt_.records > 0 ? "ended in order; begun again it goes on"
                                           : "ended before its first run did: the time limit may be too short for one";
    if (const int code = try_to([&] { hand_in_.now(); }); code != 0) return code;
    return attempt_.records > 0 ? task_goes_on : 1;
  }

  int hand_in_the_whole() {
    std::signal(SIGTERM, SIG_IGN);
    return try_to([&] { hand_in_.whole(); });
  }

  // A disk that is full or away may come back.
  template <typename Work>
  int try_to(const Work& work) {
    for (int i = 1;; ++i) {
      try {
        work();
        return 0;
      } catch (const Error& error) {
        attempt_.reason = error.what();
        if (i >= settings_.tries) break;
      }
      std::this_thread::sleep_for(std::chrono::seconds(i));
    }
    folder_.keep();
    attempt_.reason =
        fmt::format("could not write results back ({}); its store is kept there as {}/run.db", attempt_.reason, folder_.path());
    return fail(attempt_.reason, task_not_handed_in);
  }

  int fail(const std::string& reason, int code) {
    attempt_.state = Attempt::State::failed;
    attempt_.reason = reason;
    say(stderr, fmt::format("deepgap: task {} on {}: {}\n", attempt_.task, attempt_.node, reason));
    hand_in_.tell();
    return code;
  }

  const Fleet& fleet_;
  TaskSettings settings_;
  Attempt attempt_;
  WorkFolder folder_;
  HandIn hand_in_;
};

}  // namespace

std::string node_name() {
  for (const char* name : {"SLURMD_NODENAME", "DEEPGAP_NODE"}) {
    if (std::string value = environment_value(name); !value.empty()) return value;
  }
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

int run_task(const Fleet& fleet, int task, const TaskSettings& settings) {
  if (!fleet.directory.empty() && ::chdir(fleet.directory.c_str()) != 0) {
    say(stderr, fmt::format("deepgap: note: {} is not on {}: a study's relative paths will not be found\n", fleet.directory, node_name()));
  }
  return TaskRun(fleet, task, settings).run();
}

std::string probe_file(const Fleet& fleet, int task) { return fmt::format("{}/tasks/{:06}.probe", fleet.folder, task); }

int probe_node(const Fleet& fleet, int task, const TaskSettings& settings) {
  std::string wrong;
  try {
    if (!fleet.directory.empty() && ::chdir(fleet.directory.c_str()) != 0)
      throw Error(ErrorKind::input, fmt::format("the folder {} is not there", fleet.directory));
    require_cpus(fleet, node_name());
    RunSettings run;
    run.cache_dir = fleet.cache.empty() ? default_cache_dir() : fleet.cache;
    run.progress = settings.progress;
    run.part = read_task(fleet, task);
    const DryRun plan = plan_study({}, run);
    const bool does_any = std::any_of(plan.points.begin(), plan.points.end(), [](const PlannedPoint& point) { return !point.refused; });
    if (!does_any && !plan.points.empty()) wrong = fmt::format("it can do nothing of task {}: {}", task, plan.points.front().reason);
  } catch (const Error& error) {
    wrong = error.what();
  }
  if (wrong.empty()) return 0;
  wrong = fmt::format("{}: {}", node_name(), wrong);
  say(stderr, fmt::format("deepgap: {}\n", wrong));
  write_file_atomic(probe_file(fleet, task), wrong + "\n");
  return 1;
}

}  // namespace deepgap
