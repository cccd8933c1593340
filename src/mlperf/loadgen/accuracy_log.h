// Selects the answers of a performance run that LoadGen writes to its accuracy log (TEST01 compares them with the accuracy run's).
#pragma once

#include "mlperf/loadgen/settings.h"

namespace deepgap {

// Settings must have passed check_settings. For performance phases; in accuracy phases every answer is logged.
class AccuracyLogChoice {
 public:
  explicit AccuracyLogChoice(const LoadgenSettings& settings);
  double probability() const { return probability_; }
  // `value`: the sample's LoadgenSample::accuracy_log_value.
  bool logs(double value) const;

 private:
  double offset_, probability_;
};

}  // namespace deepgap
