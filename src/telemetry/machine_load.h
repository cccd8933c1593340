// Measures what the machine does besides this process, for a short time.
#pragma once

#include "telemetry/system_file.h"

#include <functional>
#include <optional>
#include <string>

namespace deepgap {

// Processes of one name, which count together: a build runs many short ones.
struct BusyProcess {
  int process = 0;   // one of them
  std::string name;  // as the kernel has it
  double share = 0;
  int count = 1;
  bool started_others = false;  // most of the share was used by processes that it started and that ended meanwhile
};

// Shares of the time of all CPUs.
struct MachineLoad {
  double others = 0;                   // busy with processes other than this one and its children that ended meanwhile
  std::optional<double> steal;         // taken by the hypervisor for other machines
  double pages_swapped_in = 0;         // during the look
  std::optional<BusyProcess> busiest;  // name of the other processes that used most, if any used CPU time
};
// Sleeps for `look_ms` between two readings. nullopt: /proc/stat is not there or does not advance.
std::optional<MachineLoad> watch_machine(const SystemRoot& root, int look_ms);
std::optional<MachineLoad> watch_machine(const SystemRoot& root, const std::function<void()>& pause);  // another way to let time pass

// Advice about what the others' share means for measurements, as `doctor` and the beginning of a run report it.
struct Advice;
Advice neighbours_advice(const std::optional<MachineLoad>& load);
// Names what took a tenth or more of the machine while a run lasted, with what to do: "other processes used 61 % of its CPU time, most of
// all sh (process 4711, 50 %). Stop them and run again". Empty: nothing did.
std::string disturbance_words(const std::optional<MachineLoad>& load);

}  // namespace deepgap
