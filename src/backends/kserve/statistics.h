// The server's own statistics of a model, KServe's extension that Triton has: how long requests waited in its queue, and how long their
// input, inference and output took. They are sums since the server started, so two readings make those of a window; requests of others in
// it are among them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace deepgap {

struct ServerStatistics {
  int64_t answered = 0, failed = 0;  // requests
  int64_t inferences = 0, runs = 0;  // samples, and executions of the model that answered them
  int64_t queue_ns = 0, input_ns = 0, inference_ns = 0, output_ns = 0;
};

// Reads the JSON of .../stats and adds up all versions in it; nullopt: it is something else.
std::optional<ServerStatistics> read_statistics(std::string_view json);
// Returns the window between two readings: server.queue_ms and so on, means of a request; server.batch, the mean samples of an execution.
// Empty if nothing was answered, or the server started again in between.
std::map<std::string, double> between(const ServerStatistics& before, const ServerStatistics& after);

}  // namespace deepgap
