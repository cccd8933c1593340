#include "stats/swings.h"

#include "stats/moments.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace deepgap {
namespace {

constexpr double errors_below_zero = 4, fewest_swings = 1.5;
constexpr size_t fewest_values = 16;

// Burg's recursion: what the values before and behind do not predict of each value.
class Burg {
 public:
  explicit Burg(std::span<const double> values) : forward_(values.begin(), values.end()) {
    const double mean = mean_of(values);
    for (double& value : forward_) value -= mean;
    backward_ = forward_;
  }

  // Returns the next partial correlation; 0 where nothing is left to predict.
  double step() {
    double product = 0, power = 0;
    for (size_t i = ++order_; i < forward_.size(); ++i) {
      product += forward_[i] * backward_[i - 1];
      power += forward_[i] * forward_[i] + backward_[i - 1] * backward_[i - 1];
    }
    const double partial = power > 0 ? 2 * product / power : 0;
    for (size_t i = forward_.size(); i-- > order_;) {
      const double ahead = forward_[i];
      forward_[i] = ahead - partial * backward_[i - 1];
      backward_[i] = backward_[i - 1] - partial * ahead;
    }
    return partial;
  }

 private:
  std::vector<double> forward_, backward_;
  size_t order_ = 0;
};

}  // namespace

std::optional<double> swing_widening(std::span<const double> values) {
  if (values.size() < fewest_values) return std::nullopt;
  const auto count = static_cast<double>(values.size());
  Burg burg(values);
  const double lag1 = burg.step(), lag2 = burg.step();
  const double a1 = lag1 * (1 - lag2), a2 = lag2;  // x[i] = a1 x[i - 1] + a2 x[i - 2] + noise
  if (a2 >= -errors_below_zero / std::sqrt(count) || a1 * a1 + 4 * a2 >= 0) return std::nullopt;
  const double period = 2 * std::numbers::pi / std::acos(std::clamp(a1 / (2 * std::sqrt(-a2)), -1.0, 1.0));
  if (period * fewest_swings > count) return std::nullopt;
  const double at_zero = 1 - a1 - a2;
  return std::max(1.0, (1 - lag1 * lag1) * (1 - lag2 * lag2) / (at_zero * at_zero));
}

}  // namespace deepgap
