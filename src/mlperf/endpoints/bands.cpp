#include "mlperf/endpoints/bands.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {

std::vector<EndpointsBand> endpoints_bands(int64_t least, int64_t most) {
  if (most <= endpoints_ultra_low)
    throw Error(ErrorKind::usage,
                fmt::format("MLPerf Endpoints divides concurrencies into bands above {}, and {} is the highest: measure more clients",
                            endpoints_ultra_low, most));
  const int64_t low = std::min(least, endpoints_ultra_low);
  const double third = std::log2(static_cast<double>(most - low)) / 3;
  // The reference implementation rounds halves to even, as std::nearbyint does.
  const auto end = [&](int thirds) { return static_cast<int64_t>(std::nearbyint(static_cast<double>(low) + std::exp2(third * thirds))); };
  const auto margin = static_cast<int64_t>(std::ceil(1.10 * static_cast<double>(most)));
  return {{"low_latency", 1, low},
          {"low_concurrency", low + 1, end(1)},
          {"med_concurrency", end(1) + 1, end(2)},
          {"high_concurrency", end(2) + 1, most},
          {"margin", most + 1, margin}};
}

const EndpointsBand* band_of(const std::vector<EndpointsBand>& bands, int64_t concurrency) {
  const auto found = std::find_if(bands.begin(), bands.end(), [&](const EndpointsBand& band) { return band.holds(concurrency); });
  return found == bands.end() ? nullptr : &*found;
}

}  // namespace deepgap
