// Metrics of the Dispatcher between scenario and sessions; the worker leaves them in the Record.
#include "analysis/metric.h"
#include "analysis/steady.h"

namespace deepgap {
namespace {

Metric of_dispatcher(const std::string& id, Better better, const std::string& describe) {
  return {id, "1", better, describe, [id](const Record& record) { return left_by_worker(record, id); }};
}

Metric class_latency(const std::string& which, const std::string& percentile) {
  const std::string id = which + "_latency_" + percentile + "_ms";
  return {id, "ms", Better::lower, percentile + " latency of the " + which + " queries, where some are urgent (nearest rank, within 0.1 %)",
          [id](const Record& record) { return left_by_worker(record, id); }};
}

const bool registered = register_metrics({
    of_dispatcher("batch_size_mean", Better::higher, "samples of queries that a session got at a time, mean over the batches"),
    of_dispatcher("padding_share", Better::lower, "share of the computed samples that only filled a batch up to a size that was compiled"),
    of_dispatcher("queue_depth_mean", Better::lower, "queries that waited in the dispatcher for a session, mean over time"),
    over_repeats(Combine::most,
                 of_dispatcher("queue_depth_max", Better::lower, "queries that waited in the dispatcher for a session, at most")),
    class_latency("urgent", "p50"),
    class_latency("urgent", "p99"),
    class_latency("other", "p50"),
    class_latency("other", "p99"),
    of_dispatcher("shed_share", Better::lower, "share of the queries that were shed because the queue was full"),
});

}  // namespace
}  // namespace deepgap
