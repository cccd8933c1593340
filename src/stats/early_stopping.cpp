#include "stats/early_stopping.h"

#include <boost/math/special_functions/beta.hpp>

namespace deepgap {
namespace {

constexpr double confidence = 0.99;

bool shows(double percentile, int64_t within, int64_t over) {
  return boost::math::ibeta(static_cast<double>(within), static_cast<double>(over + 1), percentile) < 1 - confidence;
}

}  // namespace

int64_t early_stopping_min_within(double percentile, int64_t over) {
  int64_t too_few = 0, enough = 1;
  while (!shows(percentile, enough, over)) {
    too_few = enough;
    enough *= 2;
  }
  while (enough - too_few > 1) {
    const int64_t middle = too_few + (enough - too_few) / 2;
    (shows(percentile, middle, over) ? enough : too_few) = middle;
  }
  return enough;
}

bool early_stopping_met(double percentile, int64_t count, int64_t over) {
  return count - over >= early_stopping_min_within(percentile, over);
}

bool shown_to_be_over(double percentile, int64_t count, int64_t over) {
  if (over < 1) return false;
  return boost::math::ibeta(static_cast<double>(over), static_cast<double>(count - over + 1), 1 - percentile) < 1 - confidence;
}

std::optional<int64_t> early_stopping_discards(double percentile, int64_t count) {
  const auto enough = [&](int64_t over) { return over < count && early_stopping_met(percentile, count, over); };
  if (!enough(1)) return std::nullopt;
  int64_t most = 1, too_many = 2;
  while (enough(too_many)) {
    most = too_many;
    too_many *= 2;
  }
  while (too_many - most > 1) {
    const int64_t middle = most + (too_many - most) / 2;
    (enough(middle) ? most : too_many) = middle;
  }
  return most;
}

}  // namespace deepgap
