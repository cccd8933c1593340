// A server's Prometheus metrics, as far as they tell of its GPUs: Triton's names. Read at both ends of a window.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace deepgap {

// Of all GPUs that the text tells of; nullopt: it tells none of that.
struct ServerGpus {
  std::optional<double> utilization;                 // 0 to 1, mean of the GPUs
  std::optional<double> memory_used_bytes, power_w;  // sums
  std::optional<double> energy_j;                    // sum of counters since the server started
};
ServerGpus read_gpu_metrics(std::string_view text);

// server.gpu_energy_j of the window; the others as they were at its end.
std::map<std::string, double> between(const ServerGpus& before, const ServerGpus& after);

}  // namespace deepgap
