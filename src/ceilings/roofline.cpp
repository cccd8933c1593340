#include "ceilings/roofline.h"

#include <algorithm>

namespace deepgap {

const ComputeCeiling* peak_of(const Ceilings& ceilings, const std::string& precision) {
  const ComputeCeiling* best = nullptr;
  const auto consider = [&](const std::string& wanted) {
    for (const ComputeCeiling& ceiling : ceilings.compute)
      if (ceiling.precision == wanted && (best == nullptr || ceiling.flop_per_s > best->flop_per_s)) best = &ceiling;
  };
  consider(precision == "mixed" ? "bf16" : precision);
  if (precision == "mixed" && ceilings.gpu) consider("fp16");  // there engines take one or the other
  consider("fp32");
  return best;
}

double peak_flop_per_s(const Ceilings& ceilings, const std::string& precision) {
  const ComputeCeiling* peak = peak_of(ceilings, precision);
  return peak == nullptr ? 0 : peak->flop_per_s;
}

double bandwidth_bytes_per_s(const Ceilings& ceilings, double bytes) {
  double best = 0;
  for (auto it = ceilings.memory.rbegin(); it != ceilings.memory.rend(); ++it) {
    best = std::max(best, it->bytes_per_s());
    if (static_cast<double>(it->footprint_bytes) <= bytes) break;
  }
  return best;
}

Roof roof_of(const Ceilings& ceilings, const Work& work) {
  const auto at = [](double amount, double rate) { return amount > 0 && rate > 0 ? amount / rate : 0; };
  const double computing = at(work.mac_flop, peak_flop_per_s(ceilings, work.precision));
  const double moving = at(work.bytes, bandwidth_bytes_per_s(ceilings, work.bytes));
  if (computing <= 0 && moving <= 0) return {};
  return computing >= moving ? Roof{computing, Bound::compute} : Roof{moving, Bound::memory};
}

}  // namespace deepgap
