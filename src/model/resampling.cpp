#include "model/resampling.h"

#include "model/graph_tools.h"
#include "model/node_body.h"
#include "model/tensor_contents.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace deepgap {
namespace {

// Scales as an attribute (Upsample-7), input 1 (to opset 10) or input 2.
std::vector<float> scales_of(const Node& node, int opset, const ResizeInput& input) {
  if (const auto found = node.attributes.find("scales"); found != node.attributes.end()) {
    if (const auto* scales = std::get_if<std::vector<float>>(&found->second)) return *scales;
    fail_node(node, "scales should be a list of floats");
  }
  const Tensor* scales = input(node.op == "Upsample" || opset < 11 ? 1 : 2);
  if (scales != nullptr && scales->type != DataType::f32) fail_node(node, "scales should be float32");
  return scales == nullptr ? std::vector<float>() : contents<float>(*scales);
}

std::vector<int64_t> sizes_of(const Node& node, int opset, const ResizeInput& input) {
  const Tensor* sizes = node.op == "Resize" && opset >= 11 ? input(3) : nullptr;
  if (sizes != nullptr && sizes->type != DataType::i64) fail_node(node, "sizes should be int64");
  return sizes == nullptr ? std::vector<int64_t>() : contents<int64_t>(*sizes);
}

std::vector<size_t> axes_of(const Node& node, size_t rank) {
  std::vector<int64_t> all(rank);
  std::iota(all.begin(), all.end(), int64_t{0});
  const auto count = static_cast<int64_t>(rank);
  std::vector<size_t> axes;
  for (const int64_t axis : attribute_ints(node, "axes", all)) {
    if (axis < -count || axis >= count) fail_node(node, fmt::format("axis {} does not exist in rank {}", axis, rank));
    const auto at = static_cast<size_t>(axis < 0 ? axis + count : axis);
    if (std::find(axes.begin(), axes.end(), at) != axes.end()) fail_node(node, fmt::format("axis {} is given twice", axis));
    axes.push_back(at);
  }
  return axes;
}

// Far beyond memory, and what floats and 64 bits count without overflow.
constexpr int64_t most_elements = int64_t{1} << 46;

void check_size(const Node& node, int64_t size) {
  if (size < 0 || size > most_elements) fail_node(node, fmt::format("size {} is negative or more than 2^46", size));
}

void set_scales(const Node& node, const std::vector<float>& scales, std::vector<ResizedAxis>& axes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!(scales[i] > 0) || !std::isfinite(scales[i])) fail_node(node, fmt::format("scale {} is not positive", scales[i]));
    axes[i].scale = scales[i];
    axes[i].out = scaled_size(axes[i].in, scales[i]);
    check_size(node, axes[i].out);
  }
}

void set_sizes(const Node& node, const std::vector<int64_t>& sizes, std::vector<ResizedAxis>& axes) {
  const std::string policy = attribute_string(node, "keep_aspect_ratio_policy", "stretch");
  std::vector<int64_t> in;
  for (const ResizedAxis& axis : axes) in.push_back(axis.in);
  const KeptAspect kept = policy == "stretch" ? KeptAspect{0, sizes} : keep_aspect(in, sizes, policy == "not_larger");
  for (size_t i = 0; i < axes.size(); ++i) {
    check_size(node, kept.sizes[i]);
    axes[i].out = kept.sizes[i];
    axes[i].scale = policy == "stretch" ? static_cast<float>(axes[i].out) / static_cast<float>(axes[i].in) : kept.scale;
  }
}

void set_crop(const Node& node, const ResizeInput& input, std::vector<ResizedAxis>& axes) {
  const Tensor* crop = input(1);
  if (crop != nullptr && crop->type != DataType::f32)
    throw Error(ErrorKind::refused, fmt::format("node '{}' ({}): roi that is not float32 is not handled here", node.name, node.op));
  const auto ends = crop == nullptr ? std::vector<float>() : contents<float>(*crop);
  if (ends.size() != 2 * axes.size()) fail_node(node, "roi does not have a beginning and an end for each axis");
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i].crop_begin = ends[i];
    axes[i].crop_end = ends[i + axes.size()];
  }
}

float position(const std::string& coordinates, const ResizedAxis& axis, int64_t i) {
  const auto x = static_cast<float>(i), in = static_cast<float>(axis.in), out = static_cast<float>(axis.out);
  if (coordinates == "asymmetric") return x / axis.scale;
  if (coordinates == "align_corners") return axis.out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (coordinates == "tf_half_pixel_for_nn") return (x + 0.5f) / axis.scale;
  if (coordinates == "tf_crop_and_resize") {
    if (axis.out == 1) return 0.5f * (axis.crop_begin + axis.crop_end) * (in - 1);
    return axis.crop_begin * (in - 1) + x * (axis.crop_end - axis.crop_begin) * (in - 1) / (out - 1);
  }
  if (coordinates == "pytorch_half_pixel" && axis.out == 1) return 0;
  if (coordinates != "half_pixel_symmetric") return (x + 0.5f) / axis.scale - 0.5f;
  const float center = in / 2, filled = out / (axis.scale * in);  // what rounding the size down left over, on both sides alike
  return static_cast<float>(center * (1 - filled) + (x + 0.5) / axis.scale - 0.5);
}

// Returns whether x is half-way between two places, apart from the rounding of its own computation: 7 to 2 puts the second at 3.5, which
// floats have at 3.4999998. ONNX Runtime 1.31.1 allows as much.
bool is_half_way(float x) { return std::abs(x - std::floor(x) - 0.5f) <= 1e-6f; }

int64_t nearest(const Resizing& resizing, const ResizedAxis& axis, float x) {
  const std::string& mode = resizing.nearest_mode;
  const bool rounds = mode.starts_with("round"), half_way = rounds && is_half_way(x);
  if (mode == "ceil" || (mode == "simple" && axis.scale < 1) || (half_way && mode == "round_prefer_ceil"))
    return static_cast<int64_t>(std::ceil(x));
  return static_cast<int64_t>(!rounds || half_way ? std::floor(x) : std::round(x));
}

// A position that is not a number, or far outside of the axis, reads what one just outside of it does.
float bounded(float x, const ResizedAxis& axis) {
  if (!(x > -4)) return -4;
  return std::min(x, static_cast<float>(axis.in) + 4);
}

// Keys' kernel with coefficient a at distances s + 1, s, 1 - s and 2 - s.
std::array<float, 4> cubic_weights(float s, float a) {
  const float t = 1 - s;
  return {((a * (s + 1) - 5 * a) * (s + 1) + 8 * a) * (s + 1) - 4 * a, ((a + 2) * s - (a + 3)) * s * s + 1,
          ((a + 2) * t - (a + 3)) * t * t + 1, ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a};
}

void set_linear(const ResizedAxis& axis, size_t i, float x, Taps& taps) {
  const float inside = std::clamp(x, 0.0f, static_cast<float>(axis.in - 1));
  const auto low = static_cast<int64_t>(inside);
  taps.positions[0][i] = low;
  taps.positions[1][i] = std::min(low + 1, axis.in - 1);
  taps.weights[1][i] = inside - static_cast<float>(low);
  taps.weights[0][i] = 1 - taps.weights[1][i];
}

void set_cubic(const Resizing& resizing, const ResizedAxis& axis, size_t i, float x, Taps& taps) {
  const auto low = static_cast<int64_t>(std::floor(x));
  auto weights = cubic_weights(x - static_cast<float>(low), resizing.cubic_coefficient);
  float sum = 0;
  for (int64_t t = 0; t < 4; ++t) {
    const int64_t at = low - 1 + t, inside = std::clamp<int64_t>(at, 0, axis.in - 1);
    if (resizing.exclude_outside && at != inside) weights[static_cast<size_t>(t)] = 0;
    sum += weights[static_cast<size_t>(t)];
    taps.positions[static_cast<size_t>(t)][i] = inside;
  }
  for (size_t t = 0; t < 4; ++t) taps.weights[t][i] = resizing.exclude_outside ? weights[t] / sum : weights[t];
}

// At the end of the range where a float is beyond it.
int64_t whole(float size) {
  if (!(size < 0x1p62f)) return INT64_MAX;
  return size < 0 ? -1 : static_cast<int64_t>(size);
}

// Keys' kernel at a distance.
float cubic_weight(float distance, float a) {
  const float d = std::fabs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

// Returns how many taps there are below and above a position: with antialias a kernel is as much wider as the axis shrinks. An axis that
// becomes empty needs none.
int64_t reach_of(const Resizing& resizing, const ResizedAxis& axis) {
  const float radius = resizing.mode == "linear" ? 1 : 2;
  return axis.out == 0 || axis.scale >= 1 ? static_cast<int64_t>(radius) : whole(std::ceil(radius / axis.scale));
}

// The weights of such a kernel sum to 1.
void set_wide(const Resizing& resizing, const ResizedAxis& axis, size_t i, float x, Taps& taps) {
  const auto low = static_cast<int64_t>(std::floor(x));
  const int64_t first = low + 1 - reach_of(resizing, axis);
  float sum = 0;
  for (size_t t = 0; t < taps.positions.size(); ++t) {
    const int64_t at = first + static_cast<int64_t>(t), inside = std::clamp<int64_t>(at, 0, axis.in - 1);
    const float distance = (static_cast<float>(at) - x) * std::min(axis.scale, 1.0f);
    float weight = resizing.mode == "linear" ? std::max(0.0f, 1 - std::fabs(distance)) : cubic_weight(distance, resizing.cubic_coefficient);
    if (resizing.exclude_outside && at != inside) weight = 0;
    taps.positions[t][i] = inside;
    taps.weights[t][i] = weight;
    sum += weight;
  }
  for (auto& weights : taps.weights) weights[i] /= sum;
}

}  // namespace

KeptAspect keep_aspect(const std::vector<int64_t>& in, const std::vector<int64_t>& asked, bool not_larger) {
  KeptAspect kept;
  for (size_t i = 0; i < in.size(); ++i) {
    const float scale = static_cast<float>(asked[i]) / static_cast<float>(in[i]);
    kept.scale = i == 0 ? scale : not_larger ? std::min(kept.scale, scale) : std::max(kept.scale, scale);
  }
  for (const int64_t size : in) kept.sizes.push_back(static_cast<int64_t>(std::round(kept.scale * static_cast<float>(size))));
  return kept;
}

int64_t scaled_size(int64_t in, float scale) {
  if (scale == 1) return in;  // which may be more than a float holds
  return whole(std::floor(static_cast<float>(in) * scale));
}

Resizing resizing_of(const Node& node, int opset, const Shape& shape, const ResizeInput& input) {
  const bool old = node.op == "Upsample" || opset < 11;
  Resizing resizing{.mode = attribute_string(node, "mode", "nearest"),
                    .coordinates = old ? "asymmetric" : attribute_string(node, "coordinate_transformation_mode", "half_pixel"),
                    .nearest_mode = old ? "simple" : attribute_string(node, "nearest_mode", "round_prefer_floor"),
                    .cubic_coefficient = attribute_float(node, "cubic_coeff_a", -0.75f),
                    .exclude_outside = attribute_int(node, "exclude_outside", 0) != 0,
                    .extrapolation_value = attribute_float(node, "extrapolation_value", 0),
                    .antialias = attribute_int(node, "antialias", 0) != 0,
                    .axes = {}};
  if (resizing.mode != "nearest" && resizing.mode != "linear" && resizing.mode != "cubic")
    fail_node(node, "mode '" + resizing.mode + "' does not exist");
  std::vector<ResizedAxis> axes;
  for (const size_t axis : axes_of(node, shape.size())) axes.push_back({.axis = axis, .in = shape[axis]});
  const auto scales = scales_of(node, opset, input);
  const auto sizes = sizes_of(node, opset, input);
  if ((sizes.empty() ? scales.size() : sizes.size()) != axes.size())
    fail_node(node, fmt::format("{} scales and {} sizes for {} axes", scales.size(), sizes.size(), axes.size()));
  if (sizes.empty())
    set_scales(node, scales, axes);
  else
    set_sizes(node, sizes, axes);
  const bool crops = resizing.coordinates == "tf_crop_and_resize";
  if (crops) set_crop(node, input, axes);
  for (const ResizedAxis& axis : axes) {
    const bool whole = !crops || (axis.crop_begin == 0 && axis.crop_end == 1);
    if (axis.in == 0 && axis.out > 0) fail_node(node, fmt::format("axis {} is empty and is to have {}", axis.axis, axis.out));
    if (axis.in != axis.out || axis.scale != 1 || !whole) resizing.axes.push_back(axis);
  }
  return resizing;
}

Taps taps_of(const Resizing& resizing, const ResizedAxis& axis) {
  size_t count = resizing.mode == "nearest" ? 1 : resizing.mode == "linear" ? 2 : 4;
  const bool wide = resizing.antialias && count > 1 && axis.scale < 1;
  if (wide) count = static_cast<size_t>(2 * reach_of(resizing, axis));
  const auto size = static_cast<size_t>(axis.out);
  Taps taps;
  taps.positions.assign(count, std::vector<int64_t>(size));
  if (count > 1) taps.weights.assign(count, std::vector<float>(size));
  const bool crops = resizing.coordinates == "tf_crop_and_resize";
  if (crops) taps.outside.resize(size);
  for (size_t i = 0; i < size; ++i) {
    const float given = position(resizing.coordinates, axis, static_cast<int64_t>(i)), x = bounded(given, axis);
    if (crops) taps.outside[i] = !(given >= 0 && given <= static_cast<float>(axis.in - 1));
    if (wide)
      set_wide(resizing, axis, i, x, taps);
    else if (count == 1)
      taps.positions[0][i] = std::clamp<int64_t>(nearest(resizing, axis, x), 0, axis.in - 1);
    else if (count == 2)
      set_linear(axis, i, x, taps);
    else
      set_cubic(resizing, axis, i, x, taps);
  }
  return taps;
}

}  // namespace deepgap
