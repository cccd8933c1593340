#include "scenario/stopping/throughput_meter.h"

#include <limits>

namespace deepgap {

Estimate ThroughputMeter::throughput() const {
  Estimate estimate;
  estimate.n = count();
  const auto window = static_cast<double>(length());
  if (!(window > 0)) return estimate;
  estimate.value = items_ * 1e9 / window;
  const auto cost = rounds_.estimate();
  if (!cost) return estimate;
  const Interval ns_per_item = cost->interval();
  estimate.low = 1e9 / ns_per_item.high;
  if (ns_per_item.low > 0) estimate.high = 1e9 / ns_per_item.low;  // else there is no upper bound
  return estimate;
}

double ThroughputMeter::relative_half_width() const {
  const auto cost = rounds_.estimate();
  if (!cost || !(cost->mean > 0)) return std::numeric_limits<double>::infinity();
  return cost->interval().half_width() / cost->mean;
}

}  // namespace deepgap
