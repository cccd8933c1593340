#include "model/padding.h"

#include <algorithm>

namespace deepgap {
namespace {

int64_t wrapped(int64_t position, int64_t period) { return (position % period + period) % period; }

int64_t reflected(int64_t position, int64_t size) {
  if (size == 1) return 0;
  const int64_t there = wrapped(position, 2 * (size - 1));  // there and back again
  return there < size ? there : 2 * (size - 1) - there;
}

}  // namespace

std::optional<std::vector<int64_t>> padded_positions(std::string_view mode, int64_t size, int64_t before, int64_t after) {
  if (mode != "edge" && mode != "reflect" && mode != "wrap") return std::nullopt;
  std::vector<int64_t> positions(static_cast<size_t>(std::max<int64_t>(0, size + before + after)));
  if (size == 0 && !positions.empty()) return std::nullopt;
  for (size_t i = 0; i < positions.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i) - before;
    positions[i] = mode == "edge" ? std::clamp<int64_t>(at, 0, size - 1) : mode == "wrap" ? wrapped(at, size) : reflected(at, size);
  }
  return positions;
}

}  // namespace deepgap
