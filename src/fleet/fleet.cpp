#include "fleet/fleet.h"

#include "base/dump_json.h"
#include "base/file.h"
#include "base/json_fields.h"
#include "base/parse_json.h"
#include "base/text.h"
#include "record/json_text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>

namespace deepgap {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int fleet_version = 1;
constexpr std::array<std::string_view, 4> state_names{"running", "done", "interrupted", "failed"};

// Reads a file of the folder; throws Error{input} with its name for whatever is wrong in it.
template <typename Read>
auto read_file(const std::string& path, const Read& read) {
  const json value = parse_json(read_text(path));
  try {
    return read(value);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", path, error.what()));
  }
}

// A task's file: Points with their repeats; of each stopping rule one, since a task's Points have few.
struct TaskPoint {
  std::string point_id;
  Point point;
  size_t stopping = 0;
  bool check = true;
  std::string skip_reason;
  std::vector<std::array<int, 2>> runs;  // repeat and sweep
};
struct TaskFile {
  int version = fleet_version;
  std::vector<StoppingSettings> stopping;
  std::vector<TaskPoint> points;
};

template <typename V>
void fields(V& visit, TaskPoint& task) {
  visit("point_id", task.point_id);
  visit("point", task.point);
  visit("stopping", task.stopping);
  visit("check", task.check);
  visit("skip", task.skip_reason);
  visit("runs", task.runs);
}

template <typename V>
void fields(V& visit, TaskFile& task) {
  visit("version", task.version);
  visit("stopping", task.stopping);
  visit("points", task.points);
}

}  // namespace

template <>
struct JsonText<Attempt::State> {
  static std::string_view text(Attempt::State state) { return state_names[static_cast<size_t>(state)]; }
  static std::optional<Attempt::State> parse(std::string_view name) {
    const auto state = std::find(state_names.begin(), state_names.end(), name);
    return state == state_names.end() ? std::nullopt : std::optional(static_cast<Attempt::State>(state - state_names.begin()));
  }
};

// There are many, so each is a list.
template <>
struct JsonForm<FleetTask> {
  static nlohmann::json json(const FleetTask& task) { return {task.task_group, task.records, task.seconds}; }
  static void read(const nlohmann::json& json, const JsonPlace& place, FleetTask& task) {
    if (!json.is_array() || json.size() != 3) place.fail("is not a list of 3 numbers");
    read_json(json[0], place, task.task_group);
    read_json(json[1], place, task.records);
    read_json(json[2], place, task.seconds);
  }
};

template <typename V>
void fields(V& visit, TaskGroup& task_group) {
  visit("kind", task_group.kind);
  visit("model", task_group.model);
  visit("device", task_group.device);
  visit("gpus", task_group.gpus);
  visit("first_task", task_group.first_task);
  visit("tasks", task_group.tasks);
  visit("longest_s", task_group.longest_s);
  visit("seconds", task_group.seconds);
  visit("longest_run_s", task_group.longest_run_s);
  visit("common", may_be_missing(task_group.common));
}

template <typename V>
void fields(V& visit, Fleet& fleet) {
  visit("id", fleet.id);
  visit("study", fleet.study);
  visit("study_file", fleet.study_file);
  visit("seed", fleet.seed);
  visit("created_unix", fleet.created_unix);
  visit("scheduler", fleet.scheduler);
  visit("options", fleet.options);
  visit("kinds", fleet.kinds);
  visit("program", fleet.program);
  visit("bundle", fleet.bundle);
  visit("directory", fleet.directory);
  visit("cache", fleet.cache);
  visit("device_kind", fleet.device_kind);
  visit("timeout", fleet.timeout);
  visit("hand_in_s", fleet.hand_in_s);
  visit("cpus", fleet.cpus);
  visit("lots", fleet.task_groups);
  visit("tasks", fleet.tasks);
}

template <typename V>
void fields(V& visit, Attempt& attempt) {
  visit("id", attempt.id);
  visit("task", attempt.task);
  visit("node", attempt.node);
  visit("device", attempt.device);
  visit("reason", attempt.reason);
  visit("job", attempt.job);
  visit("restart", attempt.restart);
  visit("state", attempt.state);
  visit("began_unix", attempt.began_unix);
  visit("told_unix", attempt.reported_unix);
  visit("records", attempt.records);
  visit("clock_ahead_s", attempt.clock_ahead_s);
  visit("slowest_hand_in_s", attempt.slowest_hand_in_s);
  visit("common", may_be_missing(attempt.common));
}

namespace {

json fleet_to_json(const Fleet& fleet) {
  json file = json_of(fleet);
  file["version"] = fleet_version;
  return file;
}

// Checks that every name of another part of the file exists, so that later code need not look.
void require_whole(const Fleet& fleet) {
  const auto is_in = [](int index, size_t size) { return index >= 0 && static_cast<size_t>(index) < size; };
  const auto damaged = [](const std::string& how) { throw Error(ErrorKind::input, "it is damaged: " + how); };
  if (fleet.tasks.empty() || fleet.task_groups.empty() || fleet.kinds.empty()) damaged("it has no tasks, lots or kinds of nodes");
  for (const TaskGroup& task_group : fleet.task_groups) {
    const bool has_tasks = is_in(task_group.first_task, fleet.tasks.size()) && task_group.tasks > 0 &&
                           static_cast<size_t>(task_group.tasks) <= fleet.tasks.size() - static_cast<size_t>(task_group.first_task);
    if (!is_in(task_group.kind, fleet.kinds.size()) || !has_tasks) damaged("a lot names tasks or a kind of nodes that it does not have");
  }
  for (const FleetTask& task : fleet.tasks)
    if (!is_in(task.task_group, fleet.task_groups.size())) damaged("a task names a lot that it does not have");
}

Fleet fleet_from_json(const json& value) {
  const JsonPlace whole{nullptr, "fleet"};
  const FieldReader reader(value, whole);
  int version = 0;
  reader("version", version);
  if (version > fleet_version)
    throw Error(ErrorKind::input, fmt::format("made by a newer deepgap (version {}; this one knows {})", version, fleet_version));
  auto fleet = json_to<Fleet>(value, "fleet");
  require_whole(fleet);
  return fleet;
}

TaskFile task_of(const std::vector<Job>& jobs) {
  TaskFile task;
  std::map<std::string, size_t> known;
  for (const Job& job : jobs) {
    const auto rule = std::find(task.stopping.begin(), task.stopping.end(), job.stopping);
    const auto index = static_cast<size_t>(rule - task.stopping.begin());
    if (rule == task.stopping.end()) task.stopping.push_back(job.stopping);
    const auto [point, is_new] = known.try_emplace(job.point_id, task.points.size());
    if (is_new) task.points.push_back({job.point_id, job.point, index, job.check, job.skip_reason, {}});
    task.points[point->second].runs.push_back({job.repeat, job.sweep});
  }
  return task;
}

std::vector<Job> jobs_of(const json& value) {
  const auto task = json_to<TaskFile>(value, "task");
  std::vector<Job> jobs;
  for (const TaskPoint& entry : task.points) {
    if (entry.stopping >= task.stopping.size())
      throw Error(ErrorKind::input, "damaged task: a point names a stopping rule that it does not have");
    Job job;
    job.point = entry.point;
    job.point_id = point_id(job.point);
    job.stopping = task.stopping[entry.stopping];
    job.check = entry.check;
    job.skip_reason = entry.skip_reason;
    for (const auto& [repeat, sweep] : entry.runs) {
      job.repeat = repeat;
      job.sweep = sweep;
      jobs.push_back(job);
    }
  }
  return jobs;
}

// Returns files in order of their names; none if there is no such folder.
std::vector<std::string> files_of(const std::string& folder, std::string_view ending) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.ends_with(ending) && name.find(".unfinished") == std::string::npos) files.push_back(entry->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int64_t Fleet::records() const {
  return std::accumulate(tasks.begin(), tasks.end(), int64_t{0}, [](int64_t sum, const FleetTask& task) { return sum + task.records; });
}
double Fleet::seconds() const {
  return std::accumulate(tasks.begin(), tasks.end(), 0.0, [](double sum, const FleetTask& task) { return sum + task.seconds; });
}
std::string Fleet::task_file(int task) const { return fmt::format("{}/tasks/{:06}.json", folder, task); }
std::string Fleet::parts_of(int task) const { return fmt::format("{}/parts/{:06}", folder, task); }
std::string Fleet::log_of(int task) const { return fmt::format("{}/logs/{:06}.log", folder, task); }

Fleet read_fleet(const std::string& folder) {
  const std::string path = folder + "/fleet.json";
  std::error_code error;
  if (!fs::exists(path, error))
    throw Error(
        ErrorKind::input,
        fmt::format("{} is not the folder of a fleet (it has no fleet.json): give the folder that `deepgap fleet` printed", folder));
  Fleet fleet = read_file(path, fleet_from_json);
  fleet.folder = fs::absolute(folder).lexically_normal().string();
  return fleet;
}

void write_fleet(const Fleet& fleet, const std::vector<std::vector<Job>>& jobs) {
  std::error_code error;
  if (fs::exists(fleet.folder + "/fleet.json", error))
    throw Error(ErrorKind::input, fmt::format("{} holds a fleet already: name another --fleet, or go on with `deepgap fleet wait {}`",
                                              fleet.folder, fleet.folder));
  for (const char* name : {"tasks", "parts", "scripts", "logs"}) make_directories(fleet.folder + "/" + name);
  for (size_t task = 0; task < jobs.size(); ++task)
    write_file_atomic(fleet.task_file(static_cast<int>(task)), dump_indented(json_of(task_of(jobs[task]))));
  write_file_atomic(fleet.folder + "/fleet.json", dump_indented(fleet_to_json(fleet)));
}

void remove_fleet(const Fleet& fleet, bool whole) {
  std::error_code ignored;
  if (whole) {
    fs::remove_all(fleet.folder, ignored);
    return;
  }
  for (const char* file : {"fleet.json", "study.toml", "submit.lock"}) fs::remove(fleet.folder + "/" + file, ignored);
  for (int task = 0; task < static_cast<int>(fleet.tasks.size()); ++task) fs::remove(fleet.task_file(task), ignored);
  for (const char* name : {"tasks", "parts", "scripts", "logs"}) fs::remove(fleet.folder + "/" + name, ignored);  // where it is empty
}

std::vector<Job> read_task(const Fleet& fleet, int task) {
  if (task < 0 || static_cast<size_t>(task) >= fleet.tasks.size())
    throw Error(ErrorKind::usage, fmt::format("{} has no task {}: they are 0 to {}", fleet.folder, task, fleet.tasks.size() - 1));
  return read_file(fleet.task_file(task), jobs_of);
}

void write_attempt(const Fleet& fleet, const Attempt& attempt) {
  write_file_atomic(fmt::format("{}/attempt-{}.json", fleet.parts_of(attempt.task), attempt.id), dump_indented(json_of(attempt)));
}

std::vector<Attempt> read_attempts(const Fleet& fleet, int task) {
  std::vector<Attempt> attempts;
  for (const std::string& path : files_of(fleet.parts_of(task), ".json")) {
    try {
      attempts.push_back(read_file(path, [](const json& value) { return json_to<Attempt>(value, "attempt"); }));
    } catch (const Error&) {
      continue;  // written on a full disk, or removed meanwhile: nothing is known about this attempt
    }
  }
  std::stable_sort(attempts.begin(), attempts.end(), [](const Attempt& a, const Attempt& b) { return a.began_unix < b.began_unix; });
  return attempts;
}

std::vector<Attempt> read_attempts(const Fleet& fleet) {
  std::vector<Attempt> all;
  for (size_t task = 0; task < fleet.tasks.size(); ++task) {
    std::vector<Attempt> attempts = read_attempts(fleet, static_cast<int>(task));
    std::move(attempts.begin(), attempts.end(), std::back_inserter(all));
  }
  return all;
}

std::vector<std::string> parts_of_task(const Fleet& fleet, int task) { return files_of(fleet.parts_of(task), ".db"); }

bool is_done(const std::vector<Attempt>& attempts) {
  return std::any_of(attempts.begin(), attempts.end(), [](const Attempt& attempt) { return attempt.state == Attempt::State::done; });
}

}  // namespace deepgap
