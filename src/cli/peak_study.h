// Turns a Study into a peak search: the load's axis at the search's first value, windows of fixed length, and the PeakOrder.
#pragma once

#include "plan/peak_planner.h"
#include "plan/study.h"

#include <optional>

namespace deepgap {

struct PeakFlags {
  std::optional<double> from;  // the first load
  double ratio = 0.02;
  double interval = 0;                // PeakSettings::interval
  std::optional<Nanoseconds> budget;  // time for the search: windows that the user did not choose fit into it
  bool resumes = false;               // runs of an earlier search may take the place of some
};

// Throws Error{usage} where there is no bound, more than one scenario, one without a load to choose, the load given as an axis, or an
// ending other than a duration.
PeakOrder prepare_peak_search(Study& study, const PeakFlags& flags);

}  // namespace deepgap
