#include "telemetry/machine_load.h"

#include "base/text.h"
#include "telemetry/proc_stat.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace deepgap {
namespace {

struct Look {
  MachineTimes times;
  double own_s = 0;
  int64_t swapped_in = 0;
};

std::optional<Look> look(const SystemRoot& root) {
  const auto times = parse_proc_stat(root.text("/proc/stat"));
  if (!times) return std::nullopt;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
  return Look{*times, seconds(usage.ru_utime) + seconds(usage.ru_stime),
              parse_int(value_of_key(root.text("/proc/vmstat"), "pswpin")).value_or(0)};
}

}  // namespace

std::optional<MachineLoad> watch_machine(const SystemRoot& root, int look_ms) {
  const auto before = look(root);
  if (!before) return std::nullopt;
  std::this_thread::sleep_for(std::chrono::milliseconds(look_ms));
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
  return load;
}

}  // namespace deepgap
