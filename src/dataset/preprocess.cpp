#include "dataset/preprocess.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace deepgap {
namespace {

Picture resize_short_side(const Picture& picture, int side) {
  const int64_t shorter = std::min(picture.width, picture.height);
  const auto scaled = [&](int length) { return static_cast<int>(std::lrint(static_cast<double>(length) * side / shorter)); };
  return resize_bicubic(picture, scaled(picture.width), scaled(picture.height));
}

// Rounded down. Negative where the picture is smaller than the crop.
int crop_offset(int length, int crop) { return static_cast<int>(std::floor((length - crop) / 2.0)); }

}  // namespace

void preprocess(const Picture& picture, const Preprocessing& how, std::span<float> values) {
  const Picture resized = resize_short_side(picture, how.resize);
  const int top = crop_offset(resized.height, how.crop);
  const int left = crop_offset(resized.width, how.crop);
  const size_t plane = static_cast<size_t>(how.crop) * how.crop;
  assert(values.size() == 3 * plane);
  for (int y = 0; y < how.crop; ++y) {
    for (int x = 0; x < how.crop; ++x) {
      const int from_y = std::clamp(top + y, 0, resized.height - 1);
      const int from_x = std::clamp(left + x, 0, resized.width - 1);
      const uint8_t* pixel = resized.rgb.data() + 3 * (static_cast<size_t>(from_y) * resized.width + from_x);
      for (size_t c = 0; c < 3; ++c) {
        values[c * plane + static_cast<size_t>(y) * how.crop + x] = (static_cast<float>(pixel[c]) - how.mean[c]) / how.scale[c];
      }
    }
  }
}

}  // namespace deepgap
