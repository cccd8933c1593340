#include "telemetry/proc_stat.h"

#include "base/text.h"
#include "telemetry/system_file.h"

#include <unistd.h>

#include <vector>

namespace deepgap {

std::optional<MachineTimes> parse_proc_stat(std::string_view text) {
  static const double ticks_per_s = static_cast<double>(::sysconf(_SC_CLK_TCK));
  std::vector<double> times;  // user nice system idle iowait irq softirq steal guest guest_nice
  for (const std::string& word : split(value_of_key(text, "cpu"), ' ')) {
    const auto ticks = parse_int(word);
    if (!ticks || *ticks < 0) break;
    times.push_back(static_cast<double>(*ticks) / ticks_per_s);
  }
  if (times.size() < 7) return std::nullopt;
  MachineTimes machine;
  machine.busy_s = times[0] + times[1] + times[2] + times[5] + times[6];
  machine.interrupts_s = times[5] + times[6];
  machine.idle_s = times[3] + times[4];
  if (times.size() > 7) machine.steal_s = times[7];
  if (const auto running = parse_int(value_of_key(text, "procs_running"))) machine.runnable = static_cast<double>(*running);
  return machine;
}

}  // namespace deepgap
