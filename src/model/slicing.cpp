#include "model/slicing.h"

#include <algorithm>

namespace deepgap {

SliceRange slice_range(int64_t size, int64_t start, int64_t end, int64_t step) {
  if (size == 0) return {};
  if (start < 0) start += size;
  if (end < 0) end += size;
  start = std::clamp<int64_t>(start, 0, step > 0 ? size : size - 1);
  end = step > 0 ? std::clamp<int64_t>(end, 0, size) : std::clamp<int64_t>(end, -1, size - 1);
  // In 128 bits: a step may be any number.
  const __int128 distance = step > 0 ? end - start : start - end;
  const __int128 stride = step > 0 ? step : -static_cast<__int128>(step);
  const auto count = distance <= 0 ? 0 : static_cast<int64_t>((distance + stride - 1) / stride);
  return {start, count > 1 ? step : 1, count};
}

}  // namespace deepgap
