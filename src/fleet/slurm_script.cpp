#include "fleet/slurm_script.h"

#include "base/hash.h"
#include "base/text.h"
#include "fleet/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace deepgap {
namespace {

constexpr int notice_s = 60;  // before the time limit, in which what was measured is handed in

std::string option(const Fleet& fleet, const std::string& name) {
  const auto found = fleet.options.find(name);
  return found == fleet.options.end() ? "" : found->second;
}

// Returns the time that the user said, or twice the guess and what a node may take to begin.
double time_of(const Fleet& fleet, const TaskGroup& task_group) {
  if (const auto given = slurm_seconds(option(fleet, "time")); given && *given > 0) return *given;
  const double guess = 2 * task_group.longest_s + 600;
  const auto limit = slurm_seconds(option(fleet, "time-limit"));
  return limit && *limit > 0 ? std::min(*limit, guess) : guess;
}

// Escapes what Slurm would replace in a path: in sbatch's configuration lines the rest goes as it is.
std::string pattern_path(std::string path) {
  for (size_t at = path.find('%'); at != std::string::npos; at = path.find('%', at + 2)) path.insert(at, "%");
  return path;
}

std::string directives(const Fleet& fleet, const TaskGroup& task_group, const std::string& name, const std::string& log, double seconds) {
  std::string text;
  const auto add = [&](const std::string& flag, const std::string& value) {
    if (!value.empty()) text += fmt::format("#SBATCH --{}={}\n", flag, value);
  };
  add("job-name", name);
  add("output", log);
  add("partition", option(fleet, "partition"));
  add("constraint", fleet.kinds.at(static_cast<size_t>(task_group.kind)));
  for (const char* flag : {"account", "qos", "exclude", "reservation"}) add(flag, option(fleet, flag));
  text += "#SBATCH --nodes=1\n#SBATCH --ntasks=1\n";
  add("cpus-per-task", std::to_string(fleet.cpus));
  add("gres", !option(fleet, "gres").empty() ? option(fleet, "gres") : task_group.gpus > 0 ? fmt::format("gpu:{}", task_group.gpus) : "");
  text += "#SBATCH --exclusive\n";  // what shares a node with others measures them
  add("time", slurm_time(seconds));
  text += fmt::format("#SBATCH --signal=B:USR1@{}\n#SBATCH --requeue\n#SBATCH --open-mode=append\n", notice_s);
  return text;
}

std::string program_lines(const Fleet& fleet) {
  if (fleet.bundle.empty()) return fmt::format("deepgap={}\n", shell_word(fleet.program));
  return fmt::format(R"script(# The bundle is unpacked once on each node, beside its final name, so that two jobs may do it at a time.
bundle={}
folder=${{SLURM_TMPDIR:-${{TMPDIR:-/tmp}}}}/deepgap-{}
give_up() {{ rm -rf "$unpacked"; echo "$bundle $1" >&2; exit 1; }}  # its words are what `deepgap fleet status` says
if [ ! -x "$folder/bin/deepgap" ]; then
  unpacked=$(mktemp -d "$folder.XXXXXX") || exit 1
  said=$(tar -xf "$bundle" -C "$unpacked" --strip-components=1 2>&1) || give_up "cannot be unpacked: ${{said%%$'\n'*}}"
  [ -x "$unpacked/bin/deepgap" ] || give_up "holds no FOLDER/bin/deepgap (cmake --build build --target bundle makes one that does)"
  mv -T "$unpacked" "$folder" 2>/dev/null || rm -rf "$unpacked"
fi
deepgap=$folder/bin/deepgap
)script",
                     shell_word(fleet.bundle), fleet.id);
}

}  // namespace

std::string index_ranges(const std::vector<int>& indices) {
  std::string text;
  for (size_t i = 0; i < indices.size();) {
    size_t last = i;
    while (last + 1 < indices.size() && indices[last + 1] == indices[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + (last == i ? std::to_string(indices[i]) : fmt::format("{}-{}", indices[i], indices[last]));
    i = last + 1;
  }
  return text;
}

std::optional<double> slurm_seconds(std::string_view text) {
  if (text == "infinite" || text == "UNLIMITED" || text == "INFINITE") return 0;
  double days = 0;
  const bool has_days = text.find('-') != std::string_view::npos;
  if (has_days) {
    const auto count = parse_int(text.substr(0, text.find('-')));
    if (!count || *count < 0) return std::nullopt;
    days = static_cast<double>(*count);
    text.remove_prefix(text.find('-') + 1);
  }
  std::vector<double> parts;
  for (const std::string& part : split(text, ':')) {
    const auto number = parse_int(part);
    if (!number || *number < 0) return std::nullopt;
    parts.push_back(static_cast<double>(*number));
  }
  if (parts.empty() || parts.size() > 3) return std::nullopt;
  // With days, or with three parts, the first part is hours; else it is minutes.
  const double first = has_days || parts.size() == 3 ? 3600 : 60;
  double seconds = days * 86400;
  for (size_t i = 0; i < parts.size(); ++i) seconds += parts[i] * first / std::pow(60.0, static_cast<double>(i));
  return seconds;
}

std::string slurm_time(double seconds) {
  const auto minutes = static_cast<int64_t>(std::ceil(seconds / 60));
  return fmt::format("{}-{:02}:{:02}:00", minutes / 1440, minutes / 60 % 24, minutes % 60);
}

std::vector<SlurmArray> slurm_arrays(const Fleet& fleet, const std::vector<int>& tasks, int max_array_size) {
  std::map<int, SlurmArray> arrays;  // by first task
  for (const int task : tasks) {
    const TaskGroup& task_group = fleet.task_group_of(task);
    const int first = task_group.first_task + (task - task_group.first_task) / max_array_size * max_array_size;
    SlurmArray& array = arrays[first];
    array.task_group = &task_group;
    array.first = first;
    array.indices.push_back(task - first);
    array.name = fmt::format("{}-{}", fleet.job_name(), first);
  }
  std::vector<SlurmArray> list;
  for (auto& [first, array] : arrays) {
    std::sort(array.indices.begin(), array.indices.end());
    list.push_back(std::move(array));
  }
  return list;
}

std::string slurm_script(const Fleet& fleet, const SlurmArray& array) {
  const TaskGroup& task_group = *array.task_group;
  const std::string most = option(fleet, "max-jobs");
  std::string text = fmt::format("#!/bin/bash\n# Study {} of fleet {}: {} on {}, tasks from {}. Made by `deepgap fleet`.\n", fleet.study,
                                 fleet.id, task_group.model, task_group.device, array.first);
  text += fmt::format("#SBATCH --array={}{}\n", index_ranges(array.indices), most.empty() ? "" : "%" + most);
  text += directives(fleet, task_group, array.name, pattern_path(fleet.folder) + "/logs/%A_%a.log", time_of(fleet, task_group));
  text += program_lines(fleet);
  text += fmt::format(
      R"(# A minute before the time limit Slurm sends USR1: the task hands in what it has and the job queues again, to go on where it was.
# TERM, of scancel or a preemption, ends it in order; whether it queues again is Slurm's to say.
limit=
trap 'limit=yes; kill -TERM "$child"' USR1
trap 'kill -TERM "$child"' TERM
"$deepgap" fleet task {} $(({} + SLURM_ARRAY_TASK_ID)) &
child=$!
wait "$child"
while kill -0 "$child" 2>/dev/null; do wait "$child"; done  # a signal ends wait, not the task
wait "$child"
code=$?
if [ "$code" = 75 ] && [ -n "$limit" ]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit "$code"
)",
      shell_word(fleet.folder), array.first);
  return text;
}

std::string slurm_probe_log(int kind) { return fmt::format("probe-{}-", kind); }

std::string slurm_probe_script(const Fleet& fleet, const SlurmArray& array) {
  const int task = array.first + array.indices.front();
  std::string text = fmt::format(
      "#!/bin/bash\n# Fleet {}: whether deepgap runs on such a node at all. The tasks wait for it. Made by `deepgap fleet`.\n", fleet.id);
  text += directives(fleet, *array.task_group, fmt::format("{}-probe-{}", fleet.job_name(), array.task_group->kind),
                     fmt::format("{}/logs/{}%j.log", pattern_path(fleet.folder), slurm_probe_log(array.task_group->kind)), 600);
  text += program_lines(fleet);
  text += fmt::format("\"$deepgap\" fleet probe {} {}\ncode=$?\n", shell_word(fleet.folder), task);
  if (!fleet.bundle.empty()) {
    text +=
        "# What does not even begin is not kept, so that a better bundle of this name is unpacked.\n"
        "if [ \"$code\" = 126 ] || [ \"$code\" = 127 ]; then rm -rf \"$folder\"; fi\n";
  }
  return text + "exit \"$code\"\n";
}

std::vector<QueuedTask> slurm_queue(const Fleet& fleet, const std::string& lines) {
  // Nothing that passes by itself.
  constexpr std::array<std::string_view, 9> for_good{"Held",    "HoldMax",       "NeverSatisfied", "BadConstraints",  "NotAllowed",
                                                     "Invalid", "requeued held", "TimeLimit",      "AccountingPolicy"};
  std::vector<QueuedTask> queue;
  const std::string prefix = fleet.job_name() + "-";
  for (const std::string& line : split(lines, '\n')) {
    if (!line.starts_with(prefix)) continue;
    const std::vector<std::string> parts = split(line, '|');
    if (parts.size() < 5) continue;
    const auto first = parse_int(std::string_view(parts[0]).substr(prefix.size())), index = parse_int(parts[1]);
    if (!first || !index) continue;  // a probe
    QueuedTask task{static_cast<int>(*first + *index), QueuedTask::State::waiting, trim(parts[3]), trim(parts[4])};
    const std::string& state = parts[2];
    if (state == "RUNNING" || state == "COMPLETING" || state == "CONFIGURING" || state == "STAGE_OUT") {
      task.state = QueuedTask::State::running;
    } else if (state == "REQUEUE_HOLD" || state == "SPECIAL_EXIT" ||
               std::any_of(for_good.begin(), for_good.end(),
                           [&](std::string_view words) { return task.reason.find(words) != std::string::npos; })) {
      task.state = QueuedTask::State::held;
    }
    queue.push_back(std::move(task));
  }
  return queue;
}

}  // namespace deepgap
