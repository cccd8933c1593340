#include "stats/cut_short.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace deepgap {

CutShortWeights weigh_cut_short(std::span<const CutShort> durations) {
  CutShortWeights found{std::vector<double>(durations.size(), 0), 0};
  if (durations.empty()) return found;
  std::vector<size_t> order(durations.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // One that ends when another is cut short has ended first.
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const CutShort &first = durations[a], &second = durations[b];
    return first.duration != second.duration ? first.duration < second.duration : first.whole > second.whole;
  });
  double uncut = 1, weight = 0;
  for (size_t place = 0; place < order.size(); ++place) {
    const auto left = static_cast<double>(order.size() - place);
    if (durations[order[place]].whole) {
      weight += found.weights[order[place]] = 1 / uncut;
    } else if (left > 1) {
      uncut *= 1 - 1 / left;
    }
  }
  found.unseen = std::max(0.0, 1 - weight / static_cast<double>(order.size()));
  return found;
}

}  // namespace deepgap
