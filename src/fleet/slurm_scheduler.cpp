// Scheduler `slurm`: a job array for each task group. What Slurm does is left to it: queues, nodes, requeueing after a node's death, time
// limits.
#include "base/file.h"
#include "base/messages.h"
#include "base/private_folder.h"
#include "base/registry.h"
#include "base/text.h"
#include "base/words.h"
#include "fleet/slurm_calls.h"
#include "fleet/slurm_script.h"
#include "fleet/task.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <thread>
#include <utility>

namespace deepgap {
namespace {

constexpr double notice_and_end_s = 120, most_of_limit = 0.25;  // parts of a time limit that no task should count on
constexpr auto between_looks = std::chrono::seconds(2);

class SlurmScheduler final : public Scheduler {
 public:
  std::vector<SchedulerOption> options() const override {
    return {{"partition", "slurm: partitions to use, any of a list", "LIST"},
            {"constraint", "slurm: features of nodes; each entry of a list is a kind of node, which measures the whole plan: h100,a100",
             "LIST"},
            {"account", "slurm: account that pays"},
            {"qos", "slurm: quality of service"},
            {"time", "slurm: time limit of a task [default: twice its expected time]", "TIME"},
            {"gres", "slurm: GPUs to request, instead of as many as the points name", "GRES"},
            {"exclude", "slurm: nodes to leave out", "LIST"},
            {"reservation", "slurm: reservation to use"},
            {"max-jobs", "Tasks at a time (local: 1, since they share the machine; slurm: of each array)", "N"}};
  }

  double prepare(Fleet& fleet) override {
    const std::vector<SlurmPartition> partitions = chosen(fleet);
    set_kinds(fleet, partitions);
    if (option(fleet, "cpus-per-task").empty()) {
      fleet.cpus = partitions.front().cpus;
      for (const SlurmPartition& partition : partitions) fleet.cpus = std::min(fleet.cpus, partition.cpus);
    }
    double limit = 0;
    for (const SlurmPartition& partition : partitions) {
      if (partition.limit_s > 0) limit = limit > 0 ? std::min(limit, partition.limit_s) : partition.limit_s;
    }
    if (limit > 0) fleet.options["time-limit"] = slurm_time(limit);
    const double time = time_asked(fleet, limit);
    return time - std::min(notice_and_end_s, most_of_limit * time);
  }

  std::vector<std::string> check(const Fleet& fleet) override {
    std::vector<std::string> notes;
    const std::vector<SlurmPartition> partitions = chosen(fleet);
    for (const TaskGroup& task_group : fleet.task_groups) require_gpus(fleet, task_group, partitions);
    for (const SlurmPartition& partition : partitions) {
      if (!partition.is_up) notes.push_back(fmt::format("partition {} is not up; tasks wait until it is", partition.name));
    }
    return notes;
  }

  void submit(const Fleet& fleet, const std::vector<int>& tasks) override {
    const int size = slurm_array_size();
    const std::vector<SlurmArray> arrays = slurm_arrays(fleet, tasks, size);
    std::map<int, std::string> probes;  // job of the probe, by kind
    for (const SlurmArray& array : arrays) {
      const int kind = array.task_group->kind;
      const auto [probe, is_first] = probes.try_emplace(kind);
      if (is_first && !is_known_to_run(fleet, kind)) {
        const auto job = submit_probe(fleet, array);
        if (!job) return require_some(fleet);
        probe->second = *job;
      }
      std::vector<std::string> flags;
      if (!probe->second.empty()) flags = {"--dependency=afterok:" + probe->second, "--kill-on-invalid-dep=no"};
      if (!submit_array(fleet, array, flags)) return;  // the rest when there is room
    }
  }

  bool may_have_taken(const Fleet& fleet) override {
    std::error_code error;
    if (!std::filesystem::is_empty(fleet.scripts(), error)) return true;
    try {  // an answer may have been lost on its way
      return slurm_jobs("%j").find(fleet.job_name() + "-") != std::string::npos;
    } catch (const Error&) {
      return true;
    }
  }

  // Returns a script for the first of each kind of node and number of GPUs: the others ask for the same, but for their time.
  std::vector<std::string> rehearse(const Fleet& fleet) override {
    std::vector<int> tasks(fleet.tasks.size());
    std::iota(tasks.begin(), tasks.end(), 0);
    std::set<std::pair<int, int>> asked;
    std::vector<std::string> notes;
    for (const SlurmArray& array : slurm_arrays(fleet, tasks, slurm_array_size())) {
      if (asked.emplace(array.task_group->kind, array.task_group->gpus).second) notes.push_back("Slurm reports: " + words_on(fleet, array));
    }
    return notes;
  }

  std::vector<QueuedTask> list(const Fleet& fleet) override {
    std::vector<QueuedTask> queue = slurm_queue(fleet, slurm_jobs("%j|%K|%T|%N|%r"));
    std::map<int, std::string> found;  // what a probe found, by kind
    for (QueuedTask& task : queue) {
      if (task.state != QueuedTask::State::held) continue;
      const int kind = fleet.task_group_of(task.task).kind;
      const bool probe_failed = task.reason.find("NeverSatisfied") != std::string::npos;
      const auto [words, is_new] = found.try_emplace(kind);
      if (is_new) words->second = words_of_probe(fleet, kind, probe_failed);
      if (!words->second.empty()) task.reason += "; " + words->second;
    }
    return queue;
  }

  void cancel(const Fleet& fleet) override {
    std::set<std::string> jobs;
    for (const std::string& line : split(slurm_jobs("%j|%F"), '\n')) {
      if (line.starts_with(fleet.job_name() + "-")) jobs.insert(line.substr(line.find('|') + 1));
    }
    for (const std::string& job : jobs) slurm_call({"scancel", job});
  }

  void gather(const Fleet& /*fleet*/) override {}  // the folder is on a shared disk

  void wait(const Fleet& /*fleet*/, const std::function<bool()>& interrupted) override {
    const auto until = std::chrono::steady_clock::now() + between_looks;
    while (!interrupted() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  void leave(const Fleet& /*fleet*/) override {}  // Slurm goes on

 private:
  static std::string option(const Fleet& fleet, const std::string& name) {
    const auto found = fleet.options.find(name);
    return found == fleet.options.end() ? "" : found->second;
  }

  static std::string names_of(const std::vector<SlurmPartition>& partitions) {
    std::vector<std::string> names;
    for (const SlurmPartition& partition : partitions) names.push_back(partition.name);
    return join(names, ", ");
  }

  // Returns the partitions that the user named, else Slurm's default.
  static std::vector<SlurmPartition> chosen(const Fleet& fleet) {
    std::vector<SlurmPartition> all = slurm_partitions();
    if (all.empty()) throw Error(ErrorKind::input, "sinfo lists no partition");
    std::vector<std::string> known;
    for (const SlurmPartition& partition : all) known.push_back(partition.name);
    std::vector<SlurmPartition> chosen;
    if (option(fleet, "partition").empty()) {
      std::copy_if(all.begin(), all.end(), std::back_inserter(chosen),
                   [](const SlurmPartition& partition) { return partition.is_default; });
      if (chosen.empty())
        throw Error(ErrorKind::usage,
                    fmt::format("this Slurm has no default partition: name one with --partition; known: {}", join(known, ", ")));
      return chosen;
    }
    for (const std::string& name : split(option(fleet, "partition"), ',')) {
      const auto found = std::find_if(all.begin(), all.end(), [&](const SlurmPartition& partition) { return partition.name == name; });
      if (found == all.end()) throw Error(ErrorKind::usage, invalid_choice(name, "--partition", known));
      chosen.push_back(*found);
    }
    return chosen;
  }

  static void set_kinds(Fleet& fleet, const std::vector<SlurmPartition>& partitions) {
    if (option(fleet, "constraint").empty()) return;
    std::set<std::string> features;
    for (const SlurmPartition& partition : partitions) {
      for (const auto& [feature, gpus] : partition.features) features.insert(feature);
    }
    fleet.kinds = split(option(fleet, "constraint"), ',');
    for (const std::string& kind : fleet.kinds) {
      const bool is_word = kind.find_first_of("&|[]()*") == std::string::npos;  // an expression is Slurm's to judge
      if (is_word && features.count(kind) == 0)
        throw Error(ErrorKind::usage, invalid_choice(kind, "--constraint", {features.begin(), features.end()}));
    }
  }

  static void require_gpus(const Fleet& fleet, const TaskGroup& task_group, const std::vector<SlurmPartition>& partitions) {
    if (task_group.gpus == 0 || !option(fleet, "gres").empty()) return;
    const std::string names = names_of(partitions), &kind = fleet.kinds.at(static_cast<size_t>(task_group.kind));
    int most = 0, most_of_kind = 0;
    bool known = kind.empty();
    for (const SlurmPartition& partition : partitions) {
      most = std::max(most, partition.gpus);
      const auto feature = partition.features.find(kind);
      if (feature == partition.features.end()) continue;
      known = true;
      most_of_kind = std::max(most_of_kind, feature->second);
    }
    if (most == 0)
      throw Error(ErrorKind::input,
                  fmt::format("partition {} has no GPUs (no gres gpu), and the study's points have a device cuda", names));
    if (!kind.empty() && !known) return;  // an expression, which is Slurm's to judge
    if (!kind.empty() && most_of_kind == 0)
      throw Error(ErrorKind::input, fmt::format("no node of partition {} with {} has GPUs (no gres gpu), and the study's points have a "
                                                "device cuda",
                                                names, kind));
    const int there = kind.empty() ? most : most_of_kind;
    if (task_group.gpus > there)
      throw Error(ErrorKind::input,
                  fmt::format("the study's points name {} GPUs of a node, and the most that one of partition {} has is {}", task_group.gpus,
                              names, there));
  }

  static double time_asked(Fleet& fleet, double limit) {
    std::string& text = fleet.options["time"];
    if (text.empty()) return limit;
    const auto duration = parse_duration(text);
    const auto seconds = duration ? std::optional(static_cast<double>(*duration) / 1e9) : slurm_seconds(text);
    if (!seconds || *seconds <= 0)
      throw Error(ErrorKind::usage, fmt::format("invalid value '{}' for --time: expected a time such as 30m, 1:30:00 or 2-00:00:00", text));
    if (limit > 0 && *seconds > limit)
      throw Error(ErrorKind::usage, fmt::format("--time {}: the partition allows {}", text, slurm_time(limit)));
    text = slurm_time(*seconds);
    return *seconds;
  }

  // A task of this kind has run before.
  static bool is_known_to_run(const Fleet& fleet, int kind) {
    for (int task = 0; task < static_cast<int>(fleet.tasks.size()); ++task) {
      if (fleet.task_group_of(task).kind == kind && !read_attempts(fleet, task).empty()) return true;
    }
    return false;
  }

  static std::optional<std::string> submit_probe(const Fleet& fleet, const SlurmArray& array) {
    ::unlink(probe_file(fleet, array.first + array.indices.front()).c_str());
    return submit_script(fleet, fmt::format("{}-probe-{}", fleet.job_name(), array.task_group->kind), slurm_probe_script(fleet, array), {});
  }

  // Throws if there is no room and nothing of this fleet is in the queue; otherwise the caller waits for that.
  void require_some(const Fleet& fleet) {
    if (list(fleet).empty()) throw Error(ErrorKind::input, "Slurm takes no more jobs of this user: none could be submitted");
  }

  // Returns the probe's own words if it ran; else the last that the script, or the shell that should load deepgap, wrote.
  static std::string words_of_probe(const Fleet& fleet, int kind, bool failed) {
    const std::string log = log_of_probe(fleet, kind), place = log.empty() ? "" : fmt::format(" ({})", log);
    for (int task = 0; task < static_cast<int>(fleet.tasks.size()); ++task) {
      if (fleet.task_group_of(task).kind != kind || ::access(probe_file(fleet, task).c_str(), R_OK) != 0) continue;
      return "the probe reported: " + trim(read_text(probe_file(fleet, task))) + place;
    }
    if (!failed || log.empty()) return "";
    const std::string text = trim(read_text(log)), last = trim(text.substr(text.rfind('\n') + 1));
    return last.empty() ? "the probe failed without a message" + place : "the probe reported: " + one_line(last) + place;
  }

  // Returns the log of the last probe of the kind; empty: there is none.
  static std::string log_of_probe(const Fleet& fleet, int kind) {
    std::string last;
    std::filesystem::file_time_type when{};
    std::error_code error;
    for (std::filesystem::directory_iterator entry(fleet.folder + "/logs", error), end; !error && entry != end; entry.increment(error)) {
      if (!entry->path().filename().string().starts_with(slurm_probe_log(kind))) continue;
      const auto written = entry->last_write_time(error);
      if (error || (!last.empty() && written < when)) continue;
      last = entry->path().string();
      when = written;
    }
    return last;
  }

  // Whole, or where a user may not have so many tasks in the queue in pieces, until there is no room for a single one: then false.
  static bool submit_array(const Fleet& fleet, const SlurmArray& array, const std::vector<std::string>& flags) {
    size_t size = array.indices.size();
    for (auto from = array.indices.begin(); from != array.indices.end();) {
      const auto left = static_cast<size_t>(array.indices.end() - from);
      SlurmArray piece = array;
      piece.indices.assign(from, from + static_cast<std::ptrdiff_t>(std::min(size, left)));
      const bool is_whole = piece.indices.size() == array.indices.size();
      const std::string name = is_whole ? array.name : fmt::format("{}-from-{}", array.name, piece.indices.front());
      if (submit_script(fleet, name, slurm_script(fleet, piece), flags)) {
        from += static_cast<std::ptrdiff_t>(piece.indices.size());
      } else if (piece.indices.size() == 1) {
        return false;
      } else {
        size = piece.indices.size() / 2;
      }
    }
    return true;
  }

  static bool is_full(const std::string& words) {
    constexpr std::array full{"MaxSubmit",
                              "SubmitJobLimit",
                              "job limit",
                              "job submit limit",
                              "slurm_job_submit: Max",
                              "unable to accept job",
                              "Resource temporarily unavailable"};
    return std::any_of(full.begin(), full.end(), [&](const char* part) { return words.find(part) != std::string::npos; });
  }

  static std::string words_on(const Fleet& fleet, const SlurmArray& array) {
    const PrivateFolder folder("slurm");  // whose name nobody can foresee and put a link or a file of his there
    const std::string path = folder / array.name + ".sbatch";
    write_file_atomic(path, slurm_script(fleet, array));
    try {
      return slurm_words("sbatch", slurm_call({"sbatch", "--test-only", path}));
    } catch (const Error& error) {
      if (is_full(error.what())) return error.what();  // for now: it is waited for
      throw;
    }
  }

  // The number of the job; nullopt where Slurm takes no more for now.
  static std::optional<std::string> submit_script(const Fleet& fleet, const std::string& name, const std::string& script,
                                                  const std::vector<std::string>& flags) {
    const std::string path = fmt::format("{}/{}.sbatch", fleet.scripts(), name);
    const bool is_had = ::access(path.c_str(), F_OK) == 0;  // left by an earlier submission
    write_file_atomic(path, script);
    std::vector<std::string> command{"sbatch", "--parsable"};
    command.insert(command.end(), flags.begin(), flags.end());
    command.push_back(path);
    try {
      const std::string answer = trim(slurm_call(command));
      return answer.substr(answer.rfind('\n') + 1);  // warnings may stand before it
    } catch (const Error& error) {
      if (!is_had) ::unlink(path.c_str());  // the scripts that are kept are those that Slurm has
      if (is_full(error.what())) return std::nullopt;
      throw Error(error.kind(), fmt::format("{} (of {}.sbatch)", error.what(), name));
    }
  }
};

const bool registered = Registry<Scheduler>::instance().add("slurm", [] { return std::make_unique<SlurmScheduler>(); });

}  // namespace
}  // namespace deepgap
