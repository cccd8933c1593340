#include "stats/non_inferiority.h"

#include <boost/math/distributions/students_t.hpp>

#include <cmath>

namespace deepgap {

double p_value_below(const RepeatsRatio& ratio, double limit) {
  if (!ratio.known()) return 1;
  const double distance = std::log(ratio.ratio / limit);
  if (!(ratio.log_error > 0)) return distance < 0 ? 0 : 1;
  return boost::math::cdf(boost::math::students_t(ratio.degrees_of_freedom), distance / ratio.log_error);
}

// A two-sided test at 2 * confidence - 1 is a one-sided one at `confidence`.
size_t repeats_to_tell(const RepeatsRatio& ratio, double limit, double confidence) {
  return repeats_needed(ratio, std::expm1(std::abs(std::log(ratio.ratio / limit))), 2 * confidence - 1);
}

}  // namespace deepgap
