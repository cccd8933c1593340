// Parts of a query's time on the device, by the marks that the engine sets; the worker leaves the means in the Record.
#include "analysis/metric.h"
#include "analysis/steady.h"
#include "analysis/throughput.h"

#include <algorithm>

namespace deepgap {
namespace {

// Time between the first and the last mark of all queries, over the window, mean of the Point's devices. Queries that overlap on a device
// count twice.
std::optional<Estimate> marked_share(const Record& record) {
  const auto compute = left_by_worker(record, "compute_ms");
  const auto throughput = steady_throughput(record);
  if (!compute || !throughput || record.point.batch <= 0) return std::nullopt;
  double ms = compute->value;
  for (const char* id : {"copy_in_ms", "copy_out_ms"}) {
    if (const auto part = left_by_worker(record, id)) ms += part->value;
  }
  const auto devices = static_cast<double>(std::max<size_t>(1, record.point.placement.devices.size()));
  return Estimate{ms / 1e3 * throughput->value / static_cast<double>(record.point.batch) / devices, {}, {}, compute->n};
}

Metric of_worker(const std::string& id, const std::string& describe) {
  return {id, "ms", Better::lower, describe, [id](const Record& record) { return left_by_worker(record, id); }};
}

const bool registered = register_metrics({
    of_worker("copy_in_ms", "mean time a query's inputs took to the device, by the engine's marks"),
    of_worker("compute_ms", "mean time a query computed, by the engine's marks on the device's clock where it has one"),
    of_worker("copy_out_ms", "mean time a query's outputs took back from the device, by the engine's marks"),
    {"marked_share", "1", Better::higher,
     "share of the measured window that lies between the marks of queries, mean of the devices: copies and computing; above 1 where "
     "queries overlap",
     marked_share},
});

}  // namespace
}  // namespace deepgap
