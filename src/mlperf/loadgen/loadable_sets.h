// The parts of a sample library that LoadGen has loaded one after the other (LoadSamplesToRam).
#pragma once

#include "mlperf/loadgen/settings.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace deepgap {

// The library in shuffled order, cut into sets of performance_sample_count; the last may be shorter. Never empty.
class LoadableSets {
 public:
  // `mode` is performance or accuracy: the phase that the sets are for. Settings must have passed check_settings.
  LoadableSets(const LoadgenSettings& settings, LoadgenMode mode);
  size_t count() const;
  size_t size(size_t set) const;  // without padding
  // Returns the set as LoadSamplesToRam gets it: in MultiStream samples_per_query - 1 samples from the set's beginning follow its end.
  std::vector<uint32_t> padded(size_t set) const;

 private:
  std::vector<uint32_t> order_;
  size_t per_set_, padding_;
};

}  // namespace deepgap
