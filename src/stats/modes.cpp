#include "stats/modes.h"

#include "stats/correlated.h"
#include "stats/percentile.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace deepgap {
namespace {

constexpr size_t fewest_values = 50;
constexpr double least_ratio = 1.05, least_share = 0.05;
// sqrt(n) times the dip of n uniform values: its 0.999 quantile from n = 100 on, which is 0.68 at 100, 0.73 at 1,000 and at 10,000 by
// 20,000 draws each.
constexpr double dip_quantile = 0.74;
// Standardised numbers of runs beyond this are no chance: p below 1e-6.
constexpr double runs_limit = 5;

using Indices = std::vector<int64_t>;

// The dip's two curves between two places: the greatest convex minorant of the empirical distribution function, from the right to the left,
// and its least concave majorant, from the left to the right, as the indices where they touch it.
class Dip {
 public:
  explicit Dip(std::span<const double> values) : x_(values), size_(static_cast<int64_t>(values.size())) {
    touching_below();
    touching_above();
  }

  double value() {
    int64_t low = 0, high = size_ - 1;
    double dip = 1;  // in units of 1 / (2 n)
    while (true) {
      minorant_ = chain(below_, high, low);
      majorant_ = chain(above_, low, high);
      const double distance = widest();
      if (distance < dip) break;
      dip = std::max({dip, left_of_modal_interval(), right_of_modal_interval()});
      const int64_t new_low = minorant_[left_], new_high = majorant_[right_];
      if (new_low == low && new_high == high) break;
      low = new_low, high = new_high;
    }
    return dip / static_cast<double>(2 * size_);
  }

 private:
  double gap(int64_t from, int64_t to) const { return x_[static_cast<size_t>(to)] - x_[static_cast<size_t>(from)]; }

  // Returns whether the line from `far` over `near` to `at` bends the wrong way, so that `near` lies off the curve.
  bool bends(int64_t at, int64_t near, int64_t far) const {
    return gap(near, at) * static_cast<double>(near - far) >= gap(far, near) * static_cast<double>(at - near);
  }

  void touching_below() {
    below_.assign(static_cast<size_t>(size_), 0);
    for (int64_t at = 1; at < size_; ++at) {
      int64_t near = at - 1;
      while (near != 0 && bends(at, near, below_[static_cast<size_t>(near)])) near = below_[static_cast<size_t>(near)];
      below_[static_cast<size_t>(at)] = near;
    }
  }

  void touching_above() {
    const int64_t last = size_ - 1;
    above_.assign(static_cast<size_t>(size_), last);
    for (int64_t at = last - 1; at >= 0; --at) {
      int64_t near = at + 1;
      while (near != last && bends(at, near, above_[static_cast<size_t>(near)])) near = above_[static_cast<size_t>(near)];
      above_[static_cast<size_t>(at)] = near;
    }
  }

  static Indices chain(const Indices& next, int64_t from, int64_t to) {
    Indices all{from};
    while (all.back() != to) all.push_back(next[static_cast<size_t>(all.back())]);
    return all;
  }

  // The largest distance between the curves; left_ and right_ then are the places in them where the modal interval begins and ends.
  double widest() {
    left_ = minorant_.size() - 1, right_ = majorant_.size() - 1;
    if (minorant_.size() == 2 && majorant_.size() == 2) return 1;
    double widest = 0;
    size_t lower = minorant_.size() - 2, upper = 1;
    while (true) {
      const int64_t at_lower = minorant_[lower], at_upper = majorant_[upper];
      if (at_lower > at_upper) {
        const int64_t before = minorant_[lower + 1];
        const double distance = static_cast<double>(at_upper - before + 1) -
                                gap(before, at_upper) * static_cast<double>(at_lower - before) / gap(before, at_lower);
        ++upper;
        if (distance >= widest) widest = distance, left_ = lower + 1, right_ = upper - 1;
      } else {
        const int64_t before = majorant_[upper - 1];
        const double distance = gap(before, at_lower) * static_cast<double>(at_upper - before) / gap(before, at_upper) -
                                static_cast<double>(at_lower - before - 1);
        if (distance >= widest) widest = distance, left_ = lower, right_ = upper;
        if (lower > 0) --lower;
      }
      upper = std::min(upper, majorant_.size() - 1);
      if (minorant_[lower] == majorant_[upper]) return widest;
    }
  }

  // The largest distance of the distribution function from the minorant before the modal interval.
  double left_of_modal_interval() const {
    double largest = 0;
    for (size_t i = left_; i + 1 < minorant_.size(); ++i) {
      const int64_t begin = minorant_[i + 1], end = minorant_[i];
      largest = std::max(largest, off_the_line(begin, end, 1, 1));
    }
    return largest;
  }

  double right_of_modal_interval() const {
    double largest = 0;
    for (size_t i = right_; i + 1 < majorant_.size(); ++i) largest = std::max(largest, off_the_line(majorant_[i], majorant_[i + 1], -1, 1));
    return largest;
  }

  // sign * (steps of the distribution function - line) + 1, its largest between two places.
  double off_the_line(int64_t begin, int64_t end, int sign, double least) const {
    if (end - begin <= 1 || gap(begin, end) <= 0) return least;
    const double slope = static_cast<double>(end - begin) / gap(begin, end);
    for (int64_t at = begin; at <= end; ++at)
      least = std::max(least, sign * (static_cast<double>(at - begin) - gap(begin, at) * slope) + 1);
    return least;
  }

  std::span<const double> x_;
  int64_t size_;
  Indices below_, above_;  // the next place of the curve, to the left and to the right
  Indices minorant_, majorant_;
  size_t left_ = 0, right_ = 0;
};

// The limit between the groups that explains most of the logarithms' variance (Otsu, IEEE Transactions on Systems, Man, and Cybernetics 9,
// 1979): the number of values below it.
size_t split_of(std::span<const double> ascending) {
  double sum = 0;
  for (const double value : ascending) sum += std::log(value);
  const auto all = static_cast<double>(ascending.size());
  double below = 0, best = -1;
  size_t split = 0;
  for (size_t i = 0; i + 1 < ascending.size(); ++i) {
    below += std::log(ascending[i]);
    const auto n = static_cast<double>(i + 1);
    const double between = below / n - (sum - below) / (all - n);
    const double explained = n * (all - n) * between * between;
    if (ascending[i] < ascending[i + 1] && explained > best) best = explained, split = i + 1;
  }
  return split;
}

// Values that the timer made equal, evenly over its resolution. They stay ascending.
std::vector<double> spread_over(std::vector<double> ascending, double resolution) {
  if (resolution <= 0) return ascending;
  for (size_t begin = 0, end = 0; begin < ascending.size(); begin = end) {
    while (end < ascending.size() && ascending[end] - ascending[begin] < resolution / 2) ++end;
    const double value = ascending[begin];
    for (size_t i = begin; i < end; ++i)
      ascending[i] = value + resolution * ((static_cast<double>(i - begin) + 0.5) / static_cast<double>(end - begin) - 0.5);
  }
  return ascending;
}

// Returns how many independent values would give the share of a group as precisely.
double effective_count(std::span<const double> is_low, double share) {
  const auto n = static_cast<double>(is_low.size());
  const auto mean = estimate_correlated_mean(is_low);
  if (!mean || mean->variance_of_mean <= 0) return n;
  return std::min(n, share * (1 - share) / mean->variance_of_mean);
}

// Returns by how many standard deviations there are more runs of a group than in a random order.
double runs_z(std::span<const double> is_low, double share) {
  const auto n = static_cast<double>(is_low.size());
  double runs = 1;
  for (size_t i = 1; i < is_low.size(); ++i) runs += is_low[i] != is_low[i - 1] ? 1 : 0;
  const double product = 2 * share * (1 - share) * n;  // 2 n1 n2 / n
  const double variance = product * (product - 1) / (n - 1);
  return variance > 0 ? (runs - product - 1) / std::sqrt(variance) : 0;
}

}  // namespace

double dip_of(std::span<const double> ascending) {
  if (ascending.size() < 2 || ascending.front() == ascending.back()) return 0;
  return Dip(ascending).value();
}

int64_t step_of(std::span<const int64_t> readings) {
  int64_t step = 0;
  for (size_t i = 1; i < readings.size() && step != 1; ++i) step = std::gcd(step, readings[i] - readings[0]);
  return step;
}

std::optional<Modes> find_modes(std::span<const double> values, double resolution) {
  if (values.size() < fewest_values) return std::nullopt;
  std::vector<double> ascending(values.begin(), values.end());
  std::sort(ascending.begin(), ascending.end());
  if (ascending.front() <= 0 || ascending.front() == ascending.back()) return std::nullopt;
  const size_t split = split_of(ascending);
  Modes modes;
  modes.share_low = static_cast<double>(split) / static_cast<double>(ascending.size());
  if (modes.share_low < least_share || modes.share_low > 1 - least_share) return std::nullopt;
  modes.low = ascending[split / 2];
  modes.high = ascending[split + (ascending.size() - split) / 2];
  if (modes.high < least_ratio * modes.low) return std::nullopt;
  std::vector<double> is_low;
  is_low.reserve(values.size());
  for (const double value : values) is_low.push_back(value < ascending[split] ? 1 : 0);
  if (dip_of(spread_over(ascending, resolution)) * std::sqrt(effective_count(is_low, modes.share_low)) < dip_quantile) return std::nullopt;
  const double z = runs_z(is_low, modes.share_low);
  if (std::abs(z) > runs_limit) modes.order = z > 0 ? ModeOrder::alternating : ModeOrder::stretches;
  return modes;
}

}  // namespace deepgap
