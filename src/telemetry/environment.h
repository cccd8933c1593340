// The machine as it matters to a measurement: CPU, caches, memory, topology, cgroup limits, kernel, microcode, governor, libraries.
// docs/reference/environment.md lists every key and its source.
#pragma once

#include <deepgap/record.h>

#include <string>
#include <vector>

namespace deepgap {

// Dotted keys. What cannot be known is "not available: why"; a limit that is known not to be set is "none". `root` stands for "/".
// Some milliseconds, most of them hwloc's. Any thread.
Facts capture_environment(const std::string& root = "/");
// CPUs that the process may use: the affinity mask it was started with, cut down to the cgroup's quota (rounded up; one CPU of every core
// first). At least one, sorted. Pinning a thread later does not change the answer.
std::vector<int> allowed_cpus(const std::string& root = "/");
// Pins the calling thread; throws Error{internal} when the kernel refuses.
void pin_thread(const std::vector<int>& cpus);

// Advice about what disturbs measurements on this machine, worst first; for `deepgap doctor` and the report.
struct Advice {
  enum class Level { ok, unknown, note, warning } level = Level::ok;  // unknown: it cannot be seen
  std::string subject;                                                // governor
  std::string finding;                                                // the state that was found
  std::string remedy;                                                 // steps to fix it; empty when ok or unknown
};
// Watches the machine for a third of a second to see what others do.
std::vector<Advice> examine_machine(const Facts& environment, const std::string& root = "/");

}  // namespace deepgap
