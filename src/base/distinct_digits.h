// How many digits show that values differ, for texts beside a decision.
#pragma once

#include <utility>
#include <vector>

namespace deepgap {

// Returns the fewest digits, from `fewest` to `most`, with which no two values of a pair have the same text, unless they are equal; `most`
// where that does not suffice. `text(value, digits)` writes one.
template <typename Text>
int distinct_digits(int fewest, int most, const std::vector<std::pair<double, double>>& pairs, Text text) {
  int digits = fewest;
  const auto look_alike = [&] {
    for (const auto& [a, b] : pairs)
      if (a != b && text(a, digits) == text(b, digits)) return true;
    return false;
  };
  while (digits < most && look_alike()) ++digits;
  return digits;
}

}  // namespace deepgap
