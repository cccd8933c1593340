// The roofline (Williams, Waterman and Patterson, CACM 2009): work cannot take less time than its arithmetic takes at the measured peak,
// nor less than its bytes take at the measured bandwidth. Caches raise the second: the bandwidth is that of going through as many bytes
// as the work touches, since so many may lie in a cache that is large enough for them.
#pragma once

#include "ceilings/ceilings.h"

#include <string>

namespace deepgap {

struct Work {
  std::string precision = "fp32";  // precision of the multiply-accumulates
  double mac_flop = 0;             // twice the multiply-accumulates; other arithmetic is taken to cost nothing
  double bytes = 0;                // read and written, each once
};

enum class Bound { none, compute, memory };  // none: nothing to do

struct Roof {
  double seconds = 0;  // at least
  Bound bound = Bound::none;
};

// The fastest instruction measured for `precision` or for FP32, in which an engine may do the work instead. nullptr: none was measured.
const ComputeCeiling* peak_of(const Ceilings& ceilings, const std::string& precision);
double peak_flop_per_s(const Ceilings& ceilings, const std::string& precision);  // 0: none was measured
// The highest measured for footprints from the largest that is within `bytes` on: what may serve them.
double bandwidth_bytes_per_s(const Ceilings& ceilings, double bytes);
Roof roof_of(const Ceilings& ceilings, const Work& work);

}  // namespace deepgap
