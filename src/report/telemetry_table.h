// Prints the readings of probes during a Record for other programs: `deepgap export --telemetry`. Pure functions.
#pragma once

#include <deepgap/record.h>

#include <string>
#include <string_view>

namespace deepgap {

// "power.cuda0" of probe nvml is power of cuda:0; what probe proc reads is of the CPUs. "power.gpu0" of probe server is power of the first
// GPU that a server reports.
struct SeriesName {
  std::string device, name;  // device: "cpu", "cuda:0", "server", "server:0"; of several servers "server.1:0"; empty: of none
};
bool is_of_server(const Series& series);  // whatever the server reports
SeriesName series_name(const Series& series);

// The header line of telemetry_rows().
std::string telemetry_header();
// A line for each reading, series after series: time (UTC), device, name, unit, value, then counter, window and record_id. `record` has its
// series. Empty where there are none.
std::string telemetry_rows(const Record& record);

// DEEP-GAP's log: a line a second and GPU with temperature, power, GPU and memory utilisation, memory used, both clocks and the performance
// state, under the names of nvidia-smi. What was not read is "[N/A]", as there.
std::string telemetry_log_header();
std::string telemetry_log(const Record& record);

}  // namespace deepgap
