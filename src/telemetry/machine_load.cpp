#include "telemetry/machine_load.h"

#include "base/text.h"
#include "telemetry/proc_stat.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

namespace deepgap {
namespace {

// Maps a process to its name and the ticks that it has used.
using ProcessTicks = std::map<int, std::pair<std::string, int64_t>>;

// "4711 (cc1plus) R 1 ... utime stime": proc(5) has these as fields 14 and 15. A name may hold anything, brackets too.
void add_process(const std::string& stat, ProcessTicks& ticks) {
  const size_t open = stat.find('('), close = stat.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return;
  const auto process = parse_int(trim(stat.substr(0, open)));
  const auto fields = split(trim(stat.substr(close + 1)), ' ');
  constexpr size_t user = 14 - 3, system = 15 - 3;
  if (!process || fields.size() <= system) return;
  ticks[static_cast<int>(*process)] = {stat.substr(open + 1, close - open - 1),
                                       parse_int(fields[user]).value_or(0) + parse_int(fields[system]).value_or(0)};
}

ProcessTicks processes(const SystemRoot& root) {
  ProcessTicks ticks;
  for (const std::string& name : root.list("/proc")) {
    if (parse_int(name)) add_process(root.text("/proc/" + name + "/stat"), ticks);
  }
  return ticks;
}

std::optional<BusyProcess> busiest_of(const ProcessTicks& before, const ProcessTicks& after, double total_s) {
  BusyProcess busiest;
  int64_t most = 0;
  for (const auto& [process, now] : after) {
    const auto was = before.find(process);
    const int64_t used = now.second - (was == before.end() ? 0 : was->second.second);
    if (process == ::getpid() || used <= most) continue;
    most = used;
    busiest = {process, now.first, 0};
  }
  if (most == 0) return std::nullopt;
  busiest.share = static_cast<double>(most) / static_cast<double>(::sysconf(_SC_CLK_TCK)) / total_s;
  return busiest;
}

struct Look {
  MachineTimes times;
  double own_s = 0;
  int64_t swapped_in = 0;
  ProcessTicks processes = {};
};

// Returns the CPU time of this process, or of its children that have ended.
double cpu_seconds(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::optional<Look> look(const SystemRoot& root) {
  const auto times = parse_proc_stat(root.text("/proc/stat"));
  if (!times) return std::nullopt;
  return Look{*times, cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN),
              parse_int(value_of_key(root.text("/proc/vmstat"), "pswpin")).value_or(0), processes(root)};
}

}  // namespace

std::optional<MachineLoad> watch_machine(const SystemRoot& root, int look_ms) {
  return watch_machine(root, [look_ms] { std::this_thread::sleep_for(std::chrono::milliseconds(look_ms)); });
}

std::optional<MachineLoad> watch_machine(const SystemRoot& root, const std::function<void()>& pause) {
  const auto before = look(root);
  if (!before) return std::nullopt;
  pause();
  const auto after = look(root);
  if (!after) return std::nullopt;
  const double busy = after->times.busy_s - before->times.busy_s, idle = after->times.idle_s - before->times.idle_s;
  const double steal = after->times.steal_s.value_or(0) - before->times.steal_s.value_or(0);
  const double total = busy + idle + steal;
  if (!(total > 0)) return std::nullopt;
  MachineLoad load;
  load.others = std::max(0.0, busy - (after->own_s - before->own_s)) / total;
  if (after->times.steal_s) load.steal = std::max(0.0, steal) / total;
  load.pages_swapped_in = static_cast<double>(after->swapped_in - before->swapped_in);
  load.busiest = busiest_of(before->processes, after->processes, total);
  return load;
}

}  // namespace deepgap
