#include "engine/cpu/saturation.h"

#include <algorithm>
#include <array>
#include <vector>

namespace deepgap {
namespace {

// The two largest of one sign among the weights of a channel.
struct Extremes {
  std::array<int, 2> above{0, 0}, below{0, 0};
  void add(int weight) {
    if (weight > above[1]) above = {std::max(above[0], weight), std::min(above[0], weight)};
    if (weight < below[1]) below = {std::min(below[0], weight), std::max(below[0], weight)};
  }
};

}  // namespace

bool can_saturate(const Tensor& weights, size_t channel_axis, DataType inputs) {
  if (inputs == DataType::i8) return true;
  constexpr int largest_input = 255, highest = 32767, lowest = -32768;
  const auto values = weights.as<int8_t>();
  const auto channels = static_cast<size_t>(weights.shape.at(channel_axis));
  const auto inner = static_cast<size_t>(element_count(std::span(weights.shape).subspan(channel_axis + 1)));
  std::vector<Extremes> extremes(channels);
  for (size_t i = 0; i < values.size(); ++i) extremes[i / inner % channels].add(values[i]);
  return std::any_of(extremes.begin(), extremes.end(), [](const Extremes& e) {
    return (e.above[0] + e.above[1]) * largest_input > highest || (e.below[0] + e.below[1]) * largest_input < lowest;
  });
}

}  // namespace deepgap
