// A seeded shuffle that is the same on every machine: std::shuffle and the standard distributions differ between libraries, the engine
// does not. The bias of the remainder is below 2^-40.
#pragma once

#include <random>
#include <utility>
#include <vector>

namespace deepgap {

template <typename T>
void shuffle(std::vector<T>& items, std::mt19937_64& random) {
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random() % i]);
}

}  // namespace deepgap
