// The concurrency bands of MLPerf Endpoints' rules (section 5.5): where on its curve a point counts. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace deepgap {

// Up to this concurrency a point counts as ultra low; the declared maximum must be above it.
inline constexpr int64_t endpoints_ultra_low = 32;

struct EndpointsBand {
  std::string name;  // as point.yaml declares it: "low_latency", "margin"
  int64_t first = 0, last = 0;

  bool holds(int64_t concurrency) const { return first <= concurrency && concurrency <= last; }
};

// Returns the bands in ascending order, the margin of 10 % above `most` last. `least` is the lowest measured concurrency; above
// endpoints_ultra_low it counts as that. Throws Error{usage} where `most` is not above endpoints_ultra_low.
std::vector<EndpointsBand> endpoints_bands(int64_t least, int64_t most);

// Returns the first band that holds the concurrency: rounding may give a band no room of its own. nullptr: it is above the margin.
const EndpointsBand* band_of(const std::vector<EndpointsBand>& bands, int64_t concurrency);

}  // namespace deepgap
