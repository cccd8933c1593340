// Metrics from a server's own statistics for the window (docs/reference/engines/kserve.md).
#include "analysis/metric.h"
#include "analysis/steady.h"

namespace deepgap {
namespace {

Metric of_server(const std::string& id, const std::string& unit, Better better, const std::string& describe) {
  return {id, unit, better, describe, [id](const Record& record) { return left_by_worker(record, id); }};
}

const bool registered = register_metrics({
    of_server("server_queue_ms", "ms", Better::lower, "mean time of a request in the server's queue, as the server reports"),
    of_server("server_input_ms", "ms", Better::lower, "mean time in which the server prepared a request's inputs, as it reports"),
    of_server("server_inference_ms", "ms", Better::lower, "mean time in which the model computed, of a request, as the server reports"),
    of_server("server_output_ms", "ms", Better::lower, "mean time in which the server prepared a request's outputs, as it reports"),
    of_server("server_batch", "1", Better::neither, "mean samples that the server computed together, as it reports"),
});

}  // namespace
}  // namespace deepgap
