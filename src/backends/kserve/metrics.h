// A server's Prometheus metrics, as far as they tell of its GPUs: Triton's names. Read at both ends of a window and about once a second in
// it.
#pragma once

#include "backends/kserve/http.h"
#include "backends/kserve/settings.h"

#include <deepgap/clock.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace deepgap {

// Of all GPUs that the text tells of; nullopt: it tells none of that.
struct ServerGpus {
  std::optional<double> utilization;                 // 0 to 1, mean of the GPUs
  std::optional<double> memory_used_bytes, power_w;  // sums
  std::optional<double> energy_j;                    // sum of counters since the server started
};
ServerGpus read_gpu_metrics(std::string_view text);

// Of a window with these readings, in their order: server.gpu_energy_j from its first to its last, server.gpu_utilization and
// server.gpu_power_w as means, server.gpu_memory_used_bytes the most, server.gpu_readings.
std::map<std::string, double> over_window(std::span<const ServerGpus> readings);

// Reads a server's metrics, on a thread of its own beside the asking one.
class MetricsReader {
 public:
  // Reads at once. Throws Error{refused} where they are not there: they were asked for.
  MetricsReader(const std::string& url, const KserveSettings& settings, std::chrono::milliseconds period = std::chrono::seconds(1));
  // Reads, and tells of the window since the last call. Throws as the constructor does. Readings of the thread that fail are left out.
  std::map<std::string, double> take();

 private:
  ServerGpus ask(HttpRequest& request) const;
  void read_on(const std::stop_token& stop, std::chrono::milliseconds period);

  static constexpr size_t most = 16'000'000;
  const ServerAddress address_;  // without the token: another port may be another service
  const Nanoseconds timeout_;
  HttpRequest request_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<ServerGpus> readings_;  // since the last take(), which gave the first of them
  std::jthread thread_;               // last
};

}  // namespace deepgap
