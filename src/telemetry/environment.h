// The machine as it matters to a measurement: CPU, caches, memory, topology, cgroup limits, kernel, microcode, governor, libraries, git.
#pragma once

#include <deepgap/record.h>

#include <string>
#include <vector>

namespace deepgap {

// Dotted keys, see docs/records.md. What cannot be known is "not available: why". `root` stands for "/".
Facts capture_environment(const std::string& root = "/");
// CPUs that the process may use: affinity mask cut down by the cgroup's quota (rounded up). At least one.
std::vector<int> allowed_cpus(const std::string& root = "/");
// Pins the calling thread; throws Error{internal} when the kernel refuses.
void pin_thread(const std::vector<int>& cpus);

// What spoils measurements here, worst first; for `deepgap doctor` and the report.
struct Advice {
  enum class Level { ok, note, warning } level = Level::ok;
  std::string subject;  // governor
  std::string finding;  // what is so
  std::string remedy;   // what to do; empty when ok
};
std::vector<Advice> examine_machine(const Facts& environment, const std::string& root = "/");

}  // namespace deepgap
