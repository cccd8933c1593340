// GridSample of pictures and volumes: each element of the result is interpolated where the grid says, in parts of the picture from -1 to 1.
#include "model/eval/operator.h"
#include "model/eval/parallel.h"
#include "model/eval/widened.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace deepgap {
namespace {

enum class Mode { nearest, linear, cubic };
enum class Border { zeros, edge, reflection };

struct Sampling {
  Mode mode;
  Border border;
  bool align_corners;
};

Sampling sampling_of(const Call& call) {
  // Opset 20 has other names for two of them.
  const std::string mode = call.text_of("mode", "linear"), border = call.text_of("padding_mode", "zeros");
  Sampling sampling{Mode::linear, Border::zeros, call.int_of("align_corners", 0) != 0};
  if (mode == "nearest")
    sampling.mode = Mode::nearest;
  else if (mode == "cubic" || mode == "bicubic")
    sampling.mode = Mode::cubic;
  else if (mode != "linear" && mode != "bilinear")
    call.fail("mode '" + mode + "' does not exist");
  if (border == "border")
    sampling.border = Border::edge;
  else if (border == "reflection")
    sampling.border = Border::reflection;
  else if (border != "zeros")
    call.fail("padding_mode '" + border + "' does not exist");
  return sampling;
}

float position(float part, int64_t size, bool align_corners) {
  const auto whole = static_cast<float>(size);
  return align_corners ? (part + 1) / 2 * (whole - 1) : ((part + 1) * whole - 1) / 2;
}

// Back and forth between the centres of the outer elements, or between their outer edges.
float reflected(float x, int64_t size, bool align_corners) {
  const float low = align_corners ? 0 : -0.5f, length = static_cast<float>(align_corners ? size - 1 : size);
  if (length == 0) return 0;
  const float from_low = std::fabs(x - low), rest = std::fmod(from_low, length);
  const bool forth = static_cast<int64_t>(from_low / length) % 2 == 0;
  return forth ? rest + low : length - rest + low;
}

// Within the axis, unless the border is zeros.
float drawn_in(float x, int64_t size, const Sampling& how) {
  if (how.border == Border::zeros) return x;
  if (how.border == Border::reflection) x = reflected(x, size, how.align_corners);
  return std::clamp(x, 0.0f, static_cast<float>(size - 1));
}

// The elements read along one axis; an index of -1 is a zero.
struct Taps {
  int count = 0;
  std::array<int64_t, 4> index{};
  std::array<float, 4> weight{};

  void add(float at, int64_t size, float by, const Sampling& how) {
    const float inside = drawn_in(at, size, how);
    const bool there = inside >= 0 && inside < static_cast<float>(size);  // false for NaN, too
    index[static_cast<size_t>(count)] = there ? static_cast<int64_t>(inside) : -1;
    weight[static_cast<size_t>(count++)] = by;
  }
};

Taps taps_at(float part, int64_t size, const Sampling& how) {
  float x = position(part, size, how.align_corners);
  Taps taps;
  if (how.mode == Mode::nearest) {
    taps.add(std::nearbyint(drawn_in(x, size, how)), size, 1, how);
  } else if (how.mode == Mode::linear) {
    x = drawn_in(x, size, how);
    const float low = std::floor(x);
    taps.add(low, size, low + 1 - x, how);
    taps.add(low + 1, size, x - low, how);
  } else {
    constexpr float a = -0.75f;  // Keys' kernel, as PyTorch has it
    const float low = std::floor(x), s = x - low;
    const auto near = [](float d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
    const auto far = [](float d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
    const float weights[] = {far(s + 1), near(s), near(1 - s), far(2 - s)};
    for (int k = 0; k < 4; ++k) taps.add(low - 1 + static_cast<float>(k), size, weights[k], how);
  }
  return taps;
}

float interpolated(const float* picture, int64_t width, const Taps& rows, const Taps& columns) {
  float sum = 0;
  for (int r = 0; r < rows.count; ++r) {
    float row = 0;
    for (int c = 0; c < columns.count; ++c) {
      const int64_t y = rows.index[static_cast<size_t>(r)], x = columns.index[static_cast<size_t>(c)];
      const float value = y < 0 || x < 0 ? 0 : picture[y * width + x];
      row = std::fma(columns.weight[static_cast<size_t>(c)], value, row);
    }
    sum = std::fma(rows.weight[static_cast<size_t>(r)], row, sum);
  }
  return sum;
}

// Interpolates in a volume; an image is a volume with one plane.
float interpolated(const float* volume, int64_t plane, int64_t width, const Taps& planes, const Taps& rows, const Taps& columns) {
  float sum = 0;
  for (int p = 0; p < planes.count; ++p) {
    const int64_t z = planes.index[static_cast<size_t>(p)];
    if (z >= 0) sum = std::fma(planes.weight[static_cast<size_t>(p)], interpolated(volume + z * plane, width, rows, columns), sum);
  }
  return sum;
}

void check_grid(const Call& call, const Shape& x, const Shape& grid) {
  if (x.size() != 4 && x.size() != 5) call.refuse(fmt::format("an input of {} dimensions is not handled here", x.size()));
  if (grid.size() != x.size() || grid[0] != x[0] || grid.back() != static_cast<int64_t>(x.size()) - 2)
    call.fail("the grid does not fit the input");
  if (product_of(std::span(x).subspan(2)) == 0) call.fail("its images are empty");
}

std::vector<Tensor> grid_sample(const Call& call) {
  const Tensor &x = call.input(0), &grid = call.input(1);
  call.expect(x, DataType::f32);
  call.expect(grid, DataType::f32);
  check_grid(call, x.shape, grid.shape);
  const Sampling how = sampling_of(call);
  const size_t rank = x.shape.size() - 2;
  const int64_t channels = x.shape[1], depth = rank == 3 ? x.shape[2] : 1, height = x.shape[rank], width = x.shape[rank + 1];
  const int64_t points = product_of(std::span(grid.shape).subspan(1, rank)), size = depth * height * width;
  Shape shape{x.shape[0], channels};
  shape.insert(shape.end(), grid.shape.begin() + 1, grid.shape.end() - 1);
  Tensor y = make_tensor(x.type, shape);
  const float *from = x.as<float>().data(), *parts = grid.as<float>().data();
  float* to = writable<float>(y).data();
  Taps only;
  only.count = 1;
  only.weight[0] = 1;
  parallel_for(x.shape[0] * points, static_cast<double>(40 * channels), [&](int64_t i) {
    const int64_t sample = i / points, point = i % points;
    const float* part = parts + i * static_cast<int64_t>(rank);
    const Taps columns = taps_at(part[0], width, how), rows = taps_at(part[1], height, how);
    const Taps planes = rank == 3 ? taps_at(part[2], depth, how) : only;
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t plane = sample * channels + c;
      to[plane * points + point] = interpolated(from + plane * size, height * width, width, planes, rows, columns);
    }
  });
  return {y};
}

const bool registered = add_operator("GridSample", widened<grid_sample>);

}  // namespace
}  // namespace deepgap
