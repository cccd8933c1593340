// The times of all CPUs together from /proc/stat (see proc(5)).
#pragma once

#include <optional>
#include <string_view>

namespace deepgap {

// Seconds since boot, over all CPUs. Time in a guest is part of user time already.
struct MachineTimes {
  double busy_s = 0;        // user, nice, system, interrupts
  double interrupts_s = 0;  // part of busy_s
  double idle_s = 0;        // with waiting for disks
  std::optional<double> steal_s;
  std::optional<double> runnable;  // tasks that run or could
};
std::optional<MachineTimes> parse_proc_stat(std::string_view text);

}  // namespace deepgap
