// Lists the events that perf_event can count on this CPU beyond the common ones: floating-point operations by width, and outside of the
// cores the bytes of the memory controllers and the energy (RAPL). They are read from the system's own files; nothing is opened here.
#pragma once

#include <string>
#include <vector>

namespace deepgap {

// An event of a thread. A retired instruction counts `operations`: the hardware counts a multiply-add twice, so these are operations.
struct WidthEvent {
  std::string name;  // fp32_flop_256: by instructions of 256 bits
  unsigned long long config = 0;
  int operations = 1;
};
// Returns all names, for those that a CPU does not have.
const std::vector<std::string>& width_event_names();
// Returns none for a CPU whose codes are not known here. `cpuinfo`: text of /proc/cpuinfo.
std::vector<WidthEvent> width_events(const std::string& cpuinfo);

// An event of the whole machine, whoever causes it.
struct MachineEvent {
  std::string name;  // dram_bytes_read, dram_bytes_written, energy_package_j, energy_dram_j
  int type = 0;
  unsigned long long config = 0;
  std::vector<int> cpus;  // CPUs on which it is opened: one a socket
  double scale = 1;       // bytes or joules a count
};
const std::vector<std::string>& machine_event_names();
// Several of a name are added up: there are several memory controllers. `devices`: perf's folder of its sources.
std::vector<MachineEvent> machine_events(const std::string& devices = "/sys/bus/event_source/devices");

}  // namespace deepgap
