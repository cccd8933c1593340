#include "analysis/winner_value.h"

#include <algorithm>

namespace deepgap {
namespace {

constexpr const char* metric = "throughput";

const RepeatValue* in_block(const std::vector<RepeatValue>& repeats, uint64_t block) {
  const auto found = std::find_if(repeats.begin(), repeats.end(), [&](const RepeatValue& repeat) { return repeat.block == block; });
  return found == repeats.end() ? nullptr : &*found;
}

double mean_without(const std::vector<RepeatValue>& repeats, uint64_t block) {
  double sum = 0, count = 0;
  for (const RepeatValue& repeat : repeats) {
    if (repeat.block == block) continue;
    sum += repeat.value;
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

}  // namespace

std::optional<double> value_of_winner(std::span<const PointSummary* const> candidates, const PointSummary& best) {
  const MetricSummary* own = best.find(metric);
  if (own == nullptr || own->repeats.size() < fewest_repeats) return std::nullopt;
  double sum = 0;
  for (const RepeatValue& repeat : own->repeats) {
    double highest = 0, value = repeat.value;
    for (const PointSummary* candidate : candidates) {
      const MetricSummary* throughput = candidate->find(metric);
      const RepeatValue* here = throughput == nullptr ? nullptr : in_block(throughput->repeats, repeat.block);
      if (here == nullptr || throughput->repeats.size() < 2) continue;
      const double elsewhere = mean_without(throughput->repeats, repeat.block);
      if (elsewhere > highest) highest = elsewhere, value = here->value;
    }
    sum += value;
  }
  return sum / static_cast<double>(own->repeats.size());
}

}  // namespace deepgap
