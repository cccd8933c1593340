#include "analysis/over_repeats.h"

namespace deepgap {
namespace {

std::map<std::string, OverRepeats>& registered() {
  static std::map<std::string, OverRepeats> metrics;
  return metrics;
}

}  // namespace

bool combine_over_repeats(const std::map<std::string, OverRepeats>& metrics) {
  registered().insert(metrics.begin(), metrics.end());
  return true;
}

const std::map<std::string, OverRepeats>& combined_over_repeats() { return registered(); }

}  // namespace deepgap
