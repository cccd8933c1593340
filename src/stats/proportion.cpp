#include "stats/proportion.h"

#include <boost/math/distributions/normal.hpp>

#include <algorithm>
#include <cmath>

namespace deepgap {

Interval wilson_interval(int64_t successes, int64_t trials, double confidence) {
  const double z = boost::math::quantile(boost::math::normal(), 0.5 + confidence / 2);
  const auto n = static_cast<double>(trials);
  const double share = static_cast<double>(successes) / n, z2 = z * z;
  const double middle = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half = z / (1 + z2 / n) * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n));
  return {successes == 0 ? 0 : std::max(0.0, middle - half), successes == trials ? 1 : std::min(1.0, middle + half)};
}

}  // namespace deepgap
