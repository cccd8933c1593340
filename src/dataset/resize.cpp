// The method is Pillow's (libImaging/Resample.c): one pass along the rows, one along the columns, each output pixel a weighted sum over
// the pixels under the cubic kernel. Weights are rounded to 22 bits after normalising and each pass rounds to 8 bits; both steps decide
// the last grey level, so they are followed exactly.
#include "dataset/picture.h"

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

constexpr int weight_bits = 22;
constexpr double kernel_radius = 2;

double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

// The weights of one output pixel for input pixels first, first + 1, ...
struct Taps {
  int first = 0;
  std::vector<int32_t> weights;
};

Taps taps_at(int position, int from, double scale) {
  const double widen = std::max(1.0, scale);
  const double center = (position + 0.5) * scale;
  const double radius = kernel_radius * widen;
  // Pillow's rounding: half up by truncation, which lround would do otherwise for negative positions.
  // NOLINTNEXTLINE(bugprone-incorrect-roundings)
  const int first = std::max(0, static_cast<int>(center - radius + 0.5));
  // NOLINTNEXTLINE(bugprone-incorrect-roundings)
  const int last = std::min(from, static_cast<int>(center + radius + 0.5));
  std::vector<double> weights;
  double sum = 0;
  for (int i = first; i < last; ++i) {
    weights.push_back(cubic((i - center + 0.5) / widen));
    sum += weights.back();
  }
  Taps taps{first, {}};
  for (const double weight : weights) {
    const double fixed = weight / sum * (1 << weight_bits);
    taps.weights.push_back(static_cast<int32_t>(fixed < 0 ? fixed - 0.5 : fixed + 0.5));
  }
  return taps;
}

std::vector<Taps> taps_for(int from, int to) {
  std::vector<Taps> all;
  for (int i = 0; i < to; ++i) all.push_back(taps_at(i, from, static_cast<double>(from) / to));
  return all;
}

// `pixel` is the first tap's channel; `stride` leads to the next tap's.
uint8_t weigh(const Taps& taps, const uint8_t* pixel, size_t stride) {
  int32_t sum = 1 << (weight_bits - 1);
  for (const int32_t weight : taps.weights) {
    sum += weight * *pixel;
    pixel += stride;
  }
  return static_cast<uint8_t>(std::clamp(sum >> weight_bits, 0, 255));
}

Picture resize_rows(const Picture& in, int width) {
  if (width == in.width) return in;
  Picture out{width, in.height, std::vector<uint8_t>(size_t{3} * width * in.height)};
  const std::vector<Taps> taps = taps_for(in.width, width);
  uint8_t* to = out.rgb.data();
  for (int y = 0; y < in.height; ++y) {
    const uint8_t* row = in.rgb.data() + size_t{3} * in.width * y;
    for (const Taps& t : taps) {
      for (int c = 0; c < 3; ++c) *to++ = weigh(t, row + size_t{3} * t.first + c, 3);
    }
  }
  return out;
}

Picture resize_columns(const Picture& in, int height) {
  if (height == in.height) return in;
  Picture out{in.width, height, std::vector<uint8_t>(size_t{3} * in.width * height)};
  const size_t stride = size_t{3} * in.width;
  uint8_t* to = out.rgb.data();
  for (const Taps& t : taps_for(in.height, height)) {
    const uint8_t* column = in.rgb.data() + stride * t.first;
    for (size_t x = 0; x < stride; ++x) *to++ = weigh(t, column + x, stride);
  }
  return out;
}

}  // namespace

Picture resize_bicubic(const Picture& picture, int width, int height) { return resize_columns(resize_rows(picture, width), height); }

}  // namespace deepgap
