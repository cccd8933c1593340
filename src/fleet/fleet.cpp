#include "fleet/fleet.h"

#include "base/file.h"
#include "base/json_words.h"
#include "base/parse_json.h"
#include "base/text.h"
#include "record/record_json.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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

std::string dump(const json& value) { return value.dump(1, ' ', false, json::error_handler_t::replace) + "\n"; }

// Reads a file of the folder; throws Error{input} with its name for whatever is wrong in it.
template <typename Read>
auto read_file(const std::string& path, const Read& read) {
  const json value = parse_json(read_text(path));
  try {
    return read(value);
  } catch (const json::exception& error) {
    throw Error(ErrorKind::input, fmt::format("{} is damaged: {}", path, json_words(error)));
  }
}

json lot_to_json(const Lot& lot) {
  return {{"kind", lot.kind},           {"model", lot.model},           {"device", lot.device},
          {"gpus", lot.gpus},           {"first_task", lot.first_task}, {"tasks", lot.tasks},
          {"longest_s", lot.longest_s}, {"seconds", lot.seconds},       {"longest_run_s", lot.longest_run_s},
          {"common", lot.common}};
}

Lot lot_from_json(const json& value) {
  return {value.at("kind"),  value.at("model"),     value.at("device"),  value.at("gpus"),          value.at("first_task"),
          value.at("tasks"), value.at("longest_s"), value.at("seconds"), value.at("longest_run_s"), value.value("common", "")};
}

json fleet_to_json(const Fleet& fleet) {
  json lots = json::array(), tasks = json::array();
  for (const Lot& lot : fleet.lots) lots.push_back(lot_to_json(lot));
  for (const FleetTask& task : fleet.tasks) tasks.push_back({task.lot, task.records, task.seconds});
  return {{"version", fleet_version},
          {"id", fleet.id},
          {"study", fleet.study},
          {"study_file", fleet.study_file},
          {"seed", fleet.seed},
          {"created_unix", fleet.created_unix},
          {"scheduler", fleet.scheduler},
          {"options", fleet.options},
          {"kinds", fleet.kinds},
          {"program", fleet.program},
          {"bundle", fleet.bundle},
          {"directory", fleet.directory},
          {"cache", fleet.cache},
          {"device_kind", fleet.device_kind},
          {"timeout", fleet.timeout},
          {"hand_in_s", fleet.hand_in_s},
          {"cpus", fleet.cpus},
          {"lots", lots},
          {"tasks", tasks}};
}

// Checks that every name of another part of the file exists, so that later code need not look.
void require_whole(const Fleet& fleet) {
  const auto is_in = [](int index, size_t size) { return index >= 0 && static_cast<size_t>(index) < size; };
  const auto damaged = [](const std::string& how) { throw Error(ErrorKind::input, "it is damaged: " + how); };
  if (fleet.tasks.empty() || fleet.lots.empty() || fleet.kinds.empty()) damaged("it has no tasks, lots or kinds of nodes");
  for (const Lot& lot : fleet.lots) {
    const bool has_tasks = is_in(lot.first_task, fleet.tasks.size()) && lot.tasks > 0 &&
                           static_cast<size_t>(lot.tasks) <= fleet.tasks.size() - static_cast<size_t>(lot.first_task);
    if (!is_in(lot.kind, fleet.kinds.size()) || !has_tasks) damaged("a lot names tasks or a kind of nodes that it does not have");
  }
  for (const FleetTask& task : fleet.tasks)
    if (!is_in(task.lot, fleet.lots.size())) damaged("a task names a lot that it does not have");
}

Fleet fleet_from_json(const json& value) {
  if (const int version = value.at("version"); version > fleet_version)
    throw Error(ErrorKind::input, fmt::format("made by a newer deepgap (version {}; this one knows {})", version, fleet_version));
  Fleet fleet;
  fleet.id = value.at("id");
  fleet.study = value.at("study");
  fleet.study_file = value.at("study_file");
  fleet.seed = value.at("seed");
  fleet.created_unix = value.at("created_unix");
  fleet.scheduler = value.at("scheduler");
  fleet.options = value.at("options").get<std::map<std::string, std::string>>();
  fleet.kinds = value.at("kinds").get<std::vector<std::string>>();
  fleet.program = value.at("program");
  fleet.bundle = value.at("bundle");
  fleet.directory = value.at("directory");
  fleet.cache = value.at("cache");
  fleet.device_kind = value.at("device_kind");
  fleet.timeout = value.at("timeout");
  fleet.hand_in_s = value.at("hand_in_s");
  fleet.cpus = value.at("cpus");
  for (const json& lot : value.at("lots")) fleet.lots.push_back(lot_from_json(lot));
  for (const json& task : value.at("tasks")) fleet.tasks.push_back({task.at(0), task.at(1), task.at(2)});
  require_whole(fleet);
  return fleet;
}

// Points with their repeats; of each stopping rule one, since a task's Points have few.
json task_to_json(const std::vector<Job>& jobs) {
  json rules = json::array(), points = json::array();
  std::map<std::string, size_t> known_rules;
  std::map<std::string, size_t> known_points;
  for (const Job& job : jobs) {
    const json rule = stopping_to_json(job.stopping);
    const auto [found, new_rule] = known_rules.try_emplace(rule.dump(), rules.size());
    if (new_rule) rules.push_back(rule);
    const auto [point, is_new] = known_points.try_emplace(job.point_id, points.size());
    if (is_new)
      points.push_back({{"point_id", job.point_id},
                        {"point", point_to_json(job.point)},
                        {"stopping", found->second},
                        {"check", job.check},
                        {"skip", job.skip_reason},
                        {"runs", json::array()}});
    points[point->second]["runs"].push_back({job.repeat, job.sweep});
  }
  return {{"version", fleet_version}, {"stopping", rules}, {"points", points}};
}

std::vector<Job> task_from_json(const json& value) {
  std::vector<Job> jobs;
  for (const json& entry : value.at("points")) {
    Job job;
    job.point = point_from_json(entry.at("point"));
    job.point_id = point_id(job.point);
    job.stopping = stopping_from_json(value.at("stopping").at(entry.at("stopping").get<size_t>()));
    job.check = entry.at("check");
    job.skip_reason = entry.at("skip");
    for (const json& run : entry.at("runs")) {
      job.repeat = run.at(0);
      job.sweep = run.at(1);
      jobs.push_back(job);
    }
  }
  return jobs;
}

Attempt::State state_from(const std::string& name) {
  const auto state = std::find(state_names.begin(), state_names.end(), name);
  if (state == state_names.end()) throw Error(ErrorKind::input, fmt::format("an attempt is '{}', which this deepgap does not know", name));
  return static_cast<Attempt::State>(state - state_names.begin());
}

Attempt attempt_from_json(const json& value) {
  Attempt attempt;
  attempt.id = value.at("id");
  attempt.node = value.at("node");
  attempt.device = value.at("device");
  attempt.reason = value.at("reason");
  attempt.job = value.at("job");
  attempt.task = value.at("task");
  attempt.restart = value.at("restart");
  attempt.state = state_from(value.at("state"));
  attempt.began_unix = value.at("began_unix");
  attempt.told_unix = value.at("told_unix");
  attempt.records = value.at("records");
  attempt.clock_ahead_s = value.at("clock_ahead_s");
  attempt.slowest_hand_in_s = value.at("slowest_hand_in_s");
  attempt.common = value.value("common", std::vector<double>());
  return attempt;
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
  Fleet fleet = read_file(path, [&](const json& value) {
    try {
      return fleet_from_json(value);
    } catch (const Error& failure) {
      throw Error(failure.kind(), fmt::format("{}: {}", path, failure.what()));
    }
  });
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
    write_file_atomic(fleet.task_file(static_cast<int>(task)), dump(task_to_json(jobs[task])));
  write_file_atomic(fleet.folder + "/fleet.json", dump(fleet_to_json(fleet)));
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
  return read_file(fleet.task_file(task), task_from_json);
}

void write_attempt(const Fleet& fleet, const Attempt& attempt) {
  const json value{{"id", attempt.id},
                   {"task", attempt.task},
                   {"node", attempt.node},
                   {"device", attempt.device},
                   {"reason", attempt.reason},
                   {"job", attempt.job},
                   {"restart", attempt.restart},
                   {"state", state_names[static_cast<size_t>(attempt.state)]},
                   {"began_unix", attempt.began_unix},
                   {"told_unix", attempt.told_unix},
                   {"records", attempt.records},
                   {"clock_ahead_s", attempt.clock_ahead_s},
                   {"slowest_hand_in_s", attempt.slowest_hand_in_s},
                   {"common", attempt.common}};
  write_file_atomic(fmt::format("{}/attempt-{}.json", fleet.parts_of(attempt.task), attempt.id), dump(value));
}

std::vector<Attempt> read_attempts(const Fleet& fleet, int task) {
  std::vector<Attempt> attempts;
  for (const std::string& path : files_of(fleet.parts_of(task), ".json")) {
    try {
      attempts.push_back(read_file(path, attempt_from_json));
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
