// Operators that read a picture between its pixels: RoiAlign, DeformConv; and AffineGrid, which says where. In double precision.
#include "model/eval/element_types.h"
#include "model/eval/parallel.h"
#include "model/eval/widened.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace deepgap {
namespace {

constexpr int64_t limit = int64_t{1} << 31;

// The four pixels around a point, each with its weight: how RoiAlign reads, with points near the edge moved onto it.
struct Corners {
  std::array<int64_t, 4> at{};
  std::array<double, 4> weight{};
};

Corners corners_of(double y, double x, int64_t height, int64_t width) {
  Corners corners;
  if (!(y >= -1 && y <= static_cast<double>(height) && x >= -1 && x <= static_cast<double>(width))) return corners;
  const auto split = [](double value, int64_t size) {
    const double inside = std::clamp(value, 0.0, static_cast<double>(size - 1));
    const auto low = static_cast<int64_t>(inside);
    return std::tuple(low, std::min(low + 1, size - 1), inside - static_cast<double>(low));
  };
  const auto [top, bottom, down] = split(y, height);
  const auto [left, right, along] = split(x, width);
  corners.at = {top * width + left, top * width + right, bottom * width + left, bottom * width + right};
  corners.weight = {(1 - down) * (1 - along), (1 - down) * along, down * (1 - along), down * along};
  return corners;
}

// One region: its bins begin at (top, left) and are `bin_height` x `bin_width`, each read at rows x columns points.
struct Region {
  double top, left, bin_height, bin_width;
  int64_t rows, columns;
};

struct RoiAlign {
  int64_t height, width, ratio;
  double scale;
  bool half_pixel, average;
};

Region region_of(const Call& call, const RoiAlign& how, std::span<const double> box) {
  const double shift = how.half_pixel ? 0.5 : 0;
  const double left = box[0] * how.scale - shift, top = box[1] * how.scale - shift;
  double width = box[2] * how.scale - shift - left, height = box[3] * how.scale - shift - top;
  if (!how.half_pixel) width = std::max(width, 1.0), height = std::max(height, 1.0);
  Region region{top, left, height / static_cast<double>(how.height), width / static_cast<double>(how.width), how.ratio, how.ratio};
  if (how.ratio > 0) return region;
  if (!(std::fabs(region.bin_height) < 1e6 && std::fabs(region.bin_width) < 1e6)) call.fail("a region is larger than any image");
  region.rows = std::max<int64_t>(0, static_cast<int64_t>(std::ceil(region.bin_height)));
  region.columns = std::max<int64_t>(0, static_cast<int64_t>(std::ceil(region.bin_width)));
  return region;
}

template <typename T>
double read_bin(const Tensor& x, int64_t plane, const Region& region, const RoiAlign& how, int64_t row, int64_t column) {
  const int64_t height = x.shape[2], width = x.shape[3];
  const T* from = x.as<T>().data() + plane * height * width;
  double result = how.average ? 0 : -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < region.rows; ++i)
    for (int64_t j = 0; j < region.columns; ++j) {
      const double y =
          region.top + (static_cast<double>(row) + (static_cast<double>(i) + 0.5) / static_cast<double>(region.rows)) * region.bin_height;
      const double at = region.left + (static_cast<double>(column) + (static_cast<double>(j) + 0.5) / static_cast<double>(region.columns)) *
                                          region.bin_width;
      const Corners corners = corners_of(y, at, height, width);
      for (size_t k = 0; k < 4; ++k) {
        const double value = corners.weight[k] * static_cast<double>(from[corners.at[k]]);
        result = how.average ? result + value : std::max(result, value);
      }
    }
  if (region.rows * region.columns == 0) return 0;
  return how.average ? result / static_cast<double>(region.rows * region.columns) : result;
}

RoiAlign roi_align_of(const Call& call) {
  const std::string mode = call.text_of("mode", "avg");
  if (mode != "avg" && mode != "max") call.fail("its mode is neither avg nor max");
  // Before opset 16 there was no shift.
  const std::string shift = call.text_of("coordinate_transformation_mode", call.graph.opset < 16 ? "output_half_pixel" : "half_pixel");
  if (shift != "half_pixel" && shift != "output_half_pixel")
    call.fail("its coordinate_transformation_mode is neither half_pixel nor output_half_pixel");
  const RoiAlign how{call.int_of("output_height", 1),   call.int_of("output_width", 1), call.int_of("sampling_ratio", 0),
                     call.float_of("spatial_scale", 1), shift == "half_pixel",          mode == "avg"};
  if (how.height < 1 || how.width < 1 || how.height > limit || how.width > limit || how.ratio < 0 || how.ratio > 4096)
    call.fail("a size is out of range");
  return how;
}

std::vector<Tensor> roi_align(const Call& call) {
  const Tensor &x = call.input(0), boxes = converted(call.input(1), DataType::f64);
  const auto samples = call.integers(2);
  const RoiAlign how = roi_align_of(call);
  const auto count = static_cast<int64_t>(samples.size());
  if (x.shape.size() != 4 || x.shape[2] < 1 || x.shape[3] < 1 || boxes.shape != Shape{count, 4})
    call.fail("input and regions do not fit together");
  for (const int64_t sample : samples)
    if (sample < 0 || sample >= x.shape[0]) call.fail(fmt::format("a region is of sample {} of {}", sample, x.shape[0]));
  const int64_t channels = x.shape[1], bins = how.height * how.width;
  Tensor y = make_tensor(x.type, {count, channels, how.height, how.width});
  with_float(call, x.type, [&]<typename T>(T) {
    for (int64_t box = 0; box < count; ++box) {
      const Region region = region_of(call, how, boxes.as<double>().subspan(static_cast<size_t>(box) * 4, 4));
      parallel_for(channels, static_cast<double>(bins * std::max<int64_t>(1, region.rows * region.columns)) * 10, [&](int64_t channel) {
        for (int64_t bin = 0; bin < bins; ++bin)
          writable<T>(y)[static_cast<size_t>((box * channels + channel) * bins + bin)] = static_cast<T>(
              read_bin<T>(x, samples[static_cast<size_t>(box)] * channels + channel, region, how, bin / how.width, bin % how.width));
      });
    }
  });
  return {y};
}

// Interpolates between pixels, with zeros around the image.
template <typename T>
double read_between(const T* plane, int64_t height, int64_t width, double y, double x) {
  if (!(y > -1 && x > -1 && y < static_cast<double>(height) && x < static_cast<double>(width))) return 0;
  const double top = std::floor(y), left = std::floor(x);
  const auto pixel = [&](double row, double column) {
    if (row < 0 || column < 0 || row >= static_cast<double>(height) || column >= static_cast<double>(width)) return 0.0;
    return static_cast<double>(plane[static_cast<int64_t>(row) * width + static_cast<int64_t>(column)]);
  };
  const double down = y - top, along = x - left;
  return (1 - down) * ((1 - along) * pixel(top, left) + along * pixel(top, left + 1)) +
         down * ((1 - along) * pixel(top + 1, left) + along * pixel(top + 1, left + 1));
}

struct DeformConv {
  std::vector<int64_t> strides, dilations, pads;
  int64_t groups, offset_groups, outputs, height, width;  // height and width are the result's
};

DeformConv deform_conv_of(const Call& call) {
  const Shape &x = call.input(0).shape, &w = call.input(1).shape, &offset = call.input(2).shape;
  if (x.size() != 4 || w.size() != 4 || offset.size() != 4) call.refuse("only images of two dimensions are supported");
  DeformConv how{call.ints_of("strides", {1, 1}),
                 call.ints_of("dilations", {1, 1}),
                 call.ints_of("pads", {0, 0, 0, 0}),
                 call.int_of("group", 1),
                 call.int_of("offset_group", 1),
                 w[0],
                 offset[2],
                 offset[3]};
  if (how.strides.size() != 2 || how.dilations.size() != 2 || how.pads.size() != 4) call.fail("its windows do not have two dimensions");
  for (const auto* list : {&how.strides, &how.dilations, &how.pads})
    for (const int64_t value : *list)
      if (value < (list == &how.pads ? 0 : 1) || value > limit) call.fail(fmt::format("its windows hold {}", value));
  const int64_t taps = w[2] * w[3];
  if (how.groups < 1 || how.offset_groups < 1 || x[1] != w[1] * how.groups || w[0] % how.groups != 0 || x[1] % how.offset_groups != 0 ||
      offset[0] != x[0] || offset[1] != how.offset_groups * taps * 2)
    call.fail("input, weight and offsets do not fit together");
  if (call.has(3) && call.input(3).shape != Shape{w[0]}) call.fail("its bias is not one number for each output");
  if (call.has(4) && call.input(4).shape != Shape{x[0], how.offset_groups * taps, how.height, how.width})
    call.fail("its mask does not fit its offsets");
  return how;
}

template <typename T>
double deformed_sum(const Call& call, const DeformConv& how, int64_t sample, int64_t output, int64_t row, int64_t column) {
  const Tensor &x = call.input(0), &w = call.input(1);
  const int64_t channels = x.shape[1], inputs = w.shape[1], rows = w.shape[2], columns = w.shape[3], taps = rows * columns;
  const int64_t first = output / (how.outputs / how.groups) * inputs, pixels = how.height * how.width, at = row * how.width + column;
  double sum = call.has(3) ? static_cast<double>(call.input(3).as<T>()[static_cast<size_t>(output)]) : 0;
  for (int64_t c = 0; c < inputs; ++c) {
    const int64_t channel = first + c, part = sample * how.offset_groups + channel / (channels / how.offset_groups);
    const T* plane = x.as<T>().data() + (sample * channels + channel) * x.shape[2] * x.shape[3];
    for (int64_t tap = 0; tap < taps; ++tap) {
      const T* offset = call.input(2).as<T>().data() + (part * taps + tap) * 2 * pixels + at;
      const int64_t down = tap / columns, right = tap % columns;
      const int64_t grid_y = row * how.strides[0] - how.pads[0] + down * how.dilations[0];
      const int64_t grid_x = column * how.strides[1] - how.pads[1] + right * how.dilations[1];
      const double y = static_cast<double>(grid_y) + static_cast<double>(offset[0]);
      const double along = static_cast<double>(grid_x) + static_cast<double>(offset[pixels]);
      const double mask =
          call.has(4) ? static_cast<double>(call.input(4).as<T>()[static_cast<size_t>((part * taps + tap) * pixels + at)]) : 1;
      const auto weight = static_cast<double>(w.as<T>()[static_cast<size_t>((output * inputs + c) * taps + tap)]);
      sum += weight * mask * read_between(plane, x.shape[2], x.shape[3], y, along);
    }
  }
  return sum;
}

std::vector<Tensor> deform_conv(const Call& call) {
  const Tensor& x = call.input(0);
  for (size_t i = 1; i < 5; ++i)
    if (call.has(i) && call.input(i).type != x.type) call.fail("its inputs differ in type");
  const DeformConv how = deform_conv_of(call);
  const int64_t pixels = how.height * how.width;
  Tensor y = make_tensor(x.type, {x.shape[0], how.outputs, how.height, how.width});
  with_float(call, x.type, [&]<typename T>(T) {
    parallel_for(x.shape[0] * how.outputs,
                 static_cast<double>(pixels * product_of(call.input(1).shape)) / static_cast<double>(how.outputs) * 20, [&](int64_t plane) {
                   for (int64_t i = 0; i < pixels; ++i)
                     writable<T>(y)[static_cast<size_t>(plane * pixels + i)] =
                         static_cast<T>(deformed_sum<T>(call, how, plane / how.outputs, plane % how.outputs, i / how.width, i % how.width));
                 });
  });
  return {y};
}

// The grid's shape: a place for each pixel, of as many directions as the picture has.
Shape grid_shape(const Call& call) {
  const auto sizes = call.integers(1);
  if (sizes.size() != 4 && sizes.size() != 5) call.fail(fmt::format("size has {} entries, not 4 or 5", sizes.size()));
  const auto directions = static_cast<int64_t>(sizes.size()) - 2;
  if (call.input(0).shape != Shape{sizes[0], directions, directions + 1})
    call.fail(fmt::format("theta should have shape [{},{},{}]", sizes[0], directions, directions + 1));
  Shape shape{sizes[0]};
  for (size_t i = 2; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > limit) call.fail(fmt::format("a size is {}", sizes[i]));
    shape.push_back(sizes[i]);
  }
  shape.push_back(directions);
  return shape;
}

// For each pixel of the result its place in the source, x before y (before z): theta times the pixel's own place in -1 .. 1.
std::vector<Tensor> affine_grid(const Call& call) {
  const Tensor& theta = call.input(0);
  const Shape shape = grid_shape(call);
  const size_t rank = shape.size() - 2;
  const int64_t directions = shape.back();
  const bool corners = call.int_of("align_corners", 0) != 0;
  const auto place = [&](int64_t i, int64_t size) {
    if (corners) return size == 1 ? -1.0 : 2.0 * static_cast<double>(i) / static_cast<double>(size - 1) - 1;
    return (2.0 * static_cast<double>(i) + 1) / static_cast<double>(size) - 1;
  };
  Tensor y = make_tensor(theta.type, shape);
  const int64_t pixels = product_of(std::span(shape).subspan(1, rank));
  with_float(call, theta.type, [&]<typename T>(T) {
    for (int64_t i = 0; i < shape[0] * pixels; ++i) {
      std::array<double, 4> source{};
      int64_t rest = i % pixels;
      for (size_t d = 0; d < rank; ++d) {
        const int64_t size = shape[rank - d];
        source[d] = place(rest % size, size);
        rest /= size;
      }
      source[rank] = 1;
      for (int64_t row = 0; row < directions; ++row) {
        double sum = 0;
        for (int64_t k = 0; k <= directions; ++k)
          sum += static_cast<double>(theta.as<T>()[static_cast<size_t>((i / pixels * directions + row) * (directions + 1) + k)]) *
                 source[static_cast<size_t>(k)];
        writable<T>(y)[static_cast<size_t>(i * directions + row)] = static_cast<T>(sum);
      }
    }
  });
  return {y};
}

const bool registered[] = {
    add_operator("AffineGrid", widened<affine_grid>),
    add_operator("DeformConv", widened<deform_conv>),
    add_operator("RoiAlign", widened<roi_align>),
};

}  // namespace
}  // namespace deepgap
