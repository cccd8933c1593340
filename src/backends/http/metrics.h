// A server's Prometheus metrics: Triton's, of its GPUs, its CPUs and the model. Read at both ends of a window and about once a second in
// it.
#pragma once

#include "backends/http/http.h"
#include "backends/http/metrics_text.h"

#include <deepgap/clock.h>
#include <deepgap/record.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace deepgap {

// Evaluates a window with these readings, in their order: server.gpu_energy_j from its first to its last, server.gpu_utilization and
// server.gpu_power_w as means, server.gpu_memory_used_bytes the most, server.gpu_readings. Energy, power and memory are sums over all GPUs.
std::map<std::string, double> over_window(std::span<const ServerReading> readings);

// Returns a Series for each quantity in any of them, by the times of those that have it; probe "server".
std::vector<Series> series_of(std::span<const std::pair<Nanoseconds, ServerReading>> readings);

// Reads a server's metrics, on a thread of its own beside the asking one.
class MetricsReader {
 public:
  // Makes the first reading at once, from exactly this address. `model`: the model whose requests are counted. The clock must outlive the
  // reader. Throws Error{refused} when the server has no metrics, since the user asked for them.
  MetricsReader(ServerAddress address, Nanoseconds timeout, const Clock& clock, std::string model,
                std::chrono::milliseconds period = std::chrono::seconds(1));
  // Reads, and returns the counts since the last call. Throws as the constructor does. Readings of the thread that fail are left out.
  std::map<std::string, double> take();
  // All readings since the last call, or the first.
  std::vector<Series> take_series();

 private:
  using Reading = std::pair<Nanoseconds, ServerReading>;
  Reading ask(HttpRequest& request) const;
  // Inserts the reading by its time, as one that was requested earlier may come later. REQUIRES: the lock is held.
  void keep(const Reading& reading);
  void read_on(const std::stop_token& stop, std::chrono::milliseconds period);

  static constexpr size_t most = 16'000'000;
  const ServerAddress address_;
  const Nanoseconds timeout_;
  const Clock& clock_;
  const std::string model_;
  HttpRequest request_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<Reading> window_;   // since the last take(), which gave the first of them; in order
  std::vector<Reading> history_;  // since the last take_series(); in order
  std::jthread thread_;           // last
};

}  // namespace deepgap
