#include "telemetry/machine_load.h"

#include "base/text.h"
#include "telemetry/proc_stat.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

namespace deepgap {
namespace {

// Ticks of one process, and of its children that ended and that it waited for. Theirs contain those of their children in turn, so each
// tick counts for one process alone.
struct Used {
  std::string name;
  int64_t own = 0, children = 0;
  int64_t started = 0;  // ticks since boot: a process changes its name, as workers of the kernel do, but not this
  int parent = 0;
};
using ProcessTicks = std::map<int, Used>;

// "4711 (cc1plus) R 1 ... utime stime cutime cstime": proc(5) has these as fields 14 to 17, the parent as 4, the start as 22. A name may
// hold anything, brackets too.
void add_process(const std::string& stat, ProcessTicks& ticks) {
  const size_t open = stat.find('('), close = stat.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return;
  const auto process = parse_int(trim(stat.substr(0, open)));
  const auto fields = split(trim(stat.substr(close + 1)), ' ');
  constexpr size_t parent = 4 - 3, user = 14 - 3, system = 15 - 3, children_user = 16 - 3, children_system = 17 - 3, start = 22 - 3;
  if (!process || fields.size() <= start) return;
  const auto both = [&](size_t a, size_t b) { return parse_int(fields[a]).value_or(0) + parse_int(fields[b]).value_or(0); };
  ticks[static_cast<int>(*process)] = {stat.substr(open + 1, close - open - 1), both(user, system), both(children_user, children_system),
                                       parse_int(fields[start]).value_or(0), static_cast<int>(parse_int(fields[parent]).value_or(0))};
}

ProcessTicks processes(const SystemRoot& root) {
  ProcessTicks ticks;
  for (const std::string& name : root.list("/proc")) {
    if (parse_int(name)) add_process(root.text("/proc/" + name + "/stat"), ticks);
  }
  return ticks;
}

// What a name used between two looks.
struct NamedUse {
  int64_t own = 0, children = 0, most = -1;
  int process = 0, count = 0;  // the process that used most; how many used any
  void add(int id, int64_t own_ticks, int64_t children_ticks) {
    own += own_ticks;
    children += children_ticks;
    count += own_ticks + children_ticks > 0 ? 1 : 0;
    if (own_ticks + children_ticks <= most) return;
    most = own_ticks + children_ticks;
    process = id;
  }
};

bool is_same(const ProcessTicks& then, int process, int64_t started) {
  const auto found = then.find(process);
  return found != then.end() && found->second.started == started;
}

// Ticks from before the first look, of processes that ended by the second: whoever waited for them gets these too. By the nearest process
// above that is still there.
std::map<int, int64_t> ticks_of_ended(const ProcessTicks& before, const ProcessTicks& after) {
  std::map<int, int64_t> ticks;
  for (const auto& [process, was] : before) {
    if (is_same(after, process, was.started)) continue;
    int above = was.parent;
    for (size_t steps = 0; steps < before.size(); ++steps) {
      const auto at = before.find(above);
      if (at == before.end() || is_same(after, above, at->second.started)) break;
      above = at->second.parent;
    }
    ticks[above] += was.own + was.children;
  }
  return ticks;
}

std::optional<BusyProcess> busiest_of(const ProcessTicks& before, const ProcessTicks& after, double total_s) {
  std::map<std::string, NamedUse> names;
  std::map<int, int64_t> earlier = ticks_of_ended(before, after);
  for (const auto& [process, now] : after) {
    if (process == ::getpid()) continue;
    const auto was = before.find(process);
    const bool is_new = was == before.end() || was->second.started != now.started;
    names[now.name].add(process, std::max<int64_t>(0, now.own - (is_new ? 0 : was->second.own)),
                        std::max<int64_t>(0, now.children - (is_new ? 0 : was->second.children) - earlier[process]));
  }
  const auto used = [](const auto& entry) { return entry.second.own + entry.second.children; };
  const auto busiest = std::max_element(names.begin(), names.end(), [&](const auto& a, const auto& b) { return used(a) < used(b); });
  if (busiest == names.end() || used(*busiest) == 0) return std::nullopt;
  const NamedUse& use = busiest->second;
  const double share = static_cast<double>(used(*busiest)) / static_cast<double>(::sysconf(_SC_CLK_TCK)) / total_s;
  return BusyProcess{use.process, busiest->first, share, use.count, use.children > use.own};
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
  if (load.busiest) load.busiest->share = std::min(load.busiest->share, busy / total);  // an orphan's ticks may reach another process
  return load;
}

}  // namespace deepgap
