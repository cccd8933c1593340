#include "stats/sign_confidence.h"

#include <cmath>

namespace deepgap {

double sign_confidence(int runs, int successes) {
  double term = std::pow(0.5, runs), as_many = 0;  // probability of so many failures
  for (int failures = 0; failures <= runs - successes; ++failures) {
    as_many += term;
    term *= static_cast<double>(runs - failures) / (failures + 1);
  }
  return 1 - as_many;
}

}  // namespace deepgap
