// Sums up the rounds of a profile, some of which were slowed by others on the machine.
#pragma once

#include <deepgap/clock.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace deepgap {

// The mean of `value` over the half of `rounds` in which `key` is least, with the middle one of an odd number; of equal ones those that
// came first. REQUIRES at least one round.
template <typename Round, typename Key, typename Value>
Nanoseconds mean_of_quicker_half(const std::vector<Round>& rounds, Key key, Value value) {
  std::vector<const Round*> order;
  for (const Round& round : rounds) order.push_back(&round);
  std::stable_sort(order.begin(), order.end(), [&](const Round* a, const Round* b) { return key(*a) < key(*b); });
  order.resize((order.size() + 1) / 2);
  Nanoseconds sum = 0;
  for (const Round* round : order) sum += value(*round);
  return sum / static_cast<Nanoseconds>(order.size());
}

inline Nanoseconds mean_of_quicker_half(const std::vector<Nanoseconds>& times) {
  return mean_of_quicker_half(times, std::identity(), std::identity());
}

}  // namespace deepgap
