// Convolutions and pools, with channels first as ONNX has them: XLA lays them out as its kernels want them.
#include "backends/xla/xla_operator.h"
#include "model/translated_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace deepgap {
namespace {

using Ints = std::vector<int64_t>;

// Something for batch and channels before something for each place.
Ints before_places(int64_t value, Ints places) {
  places.insert(places.begin(), 2, value);
  return places;
}

// The ends with which rounding down gives the inferred positions.
Ints reaching_ends(const NodeWindow& w) {
  Ints ends;
  for (size_t i = 0; i < w.rank(); ++i) ends.push_back((w.out[i] - 1) * w.strides[i] + w.extent(i) - w.in[i] - w.begins[i]);
  return ends;
}

HloWriter::Window window_of(const NodeWindow& w) {
  return {before_places(1, w.kernel), before_places(1, w.strides), before_places(1, w.dilations), before_places(0, w.begins),
          before_places(0, reaching_ends(w))};
}

struct Convolution {
  Ints strides, begins, ends, spread, dilations;  // spread: of the input
  int64_t groups = 1;
  bool filter_is_reversed = false;  // with its inputs before its outputs
};
HloValue convolved(const XlaCall& call, const HloValue& x, const HloValue& filter, const Convolution& c) {
  std::string places, reversal;
  for (size_t i = 0; i < c.strides.size(); ++i) {
    places += fmt::format(", {}", i);
    reversal += fmt::format("{}{}", i == 0 ? "" : ", ", c.filter_is_reversed);
  }
  const std::string sides = c.filter_is_reversed ? "i, o" : "o, i";
  return call.hlo.operation(
      "convolution", {x, filter}, x.type, call.output_shape(),
      fmt::format(
          "window_strides = {}, padding = {}, lhs_dilation = {}, rhs_dilation = {}, window_reversal = array<i1: {}>, "
          "dimension_numbers = #stablehlo.conv<[b, f{}]x[{}{}]->[b, f{}]>, feature_group_count = {}, batch_group_count = 1 : i64, {}",
          hlo_array(c.strides), hlo_pairs(c.begins, c.ends), hlo_array(c.spread), hlo_array(c.dilations), reversal, places, sides, places,
          places, hlo_integer(c.groups), call.precision()));
}

void finish(const XlaCall& call, HloValue y) {
  if (call.has(2)) y = call.hlo.binary("add", y, call.hlo.broadcast(call.in(2), y.shape, {1}));
  call.out(0, y);
}

void conv(const XlaCall& call) {
  const Shape weights = call.shape(1);
  const NodeWindow w = node_window(call, Ints(weights.begin() + 2, weights.end()));
  finish(call, convolved(call, call.in(0), call.in(1),
                         {w.strides, w.begins, reaching_ends(w), Ints(w.rank(), 1), w.dilations, call.int_of("group", 1), false}));
}

// A convolution of the input with its elements spread by the strides, by the reversed filter.
void conv_transpose(const XlaCall& call) {
  if (call.text_of("auto_pad", "NOTSET") != "NOTSET" || !call.ints_of("output_shape", {}).empty()) call.refuse("auto_pad or output_shape");
  HloWriter& h = call.hlo;
  const Shape weights = call.shape(1);
  const NodeWindow w = node_window(call, Ints(weights.begin() + 2, weights.end()));
  const int64_t groups = call.int_of("group", 1);
  Ints begins, ends;
  for (size_t i = 0; i < w.rank(); ++i) {
    begins.push_back(w.extent(i) - 1 - w.begins[i]);
    ends.push_back(w.out[i] - (w.in[i] - 1) * w.strides[i] - 1 - begins[i] + w.extent(i) - 1);
  }
  HloValue filter = call.in(1);
  if (groups > 1) {  // [groups, inputs, outputs, places] to [inputs, groups, outputs, places]
    Shape split = weights, joined = weights;
    split[0] /= groups;
    split.insert(split.begin(), groups);
    joined[0] /= groups;
    joined[1] *= groups;
    Ints order{1, 0, 2};
    for (size_t i = 0; i < w.rank(); ++i) order.push_back(static_cast<int64_t>(i) + 3);
    filter = h.reshape(h.transpose(h.reshape(filter, split), order), joined);
  }
  finish(call, convolved(call, call.in(0), filter, {Ints(w.rank(), 1), begins, ends, w.strides, w.dilations, groups, true}));
}

// What no element lies below: the least integer, or minus infinity.
double least_of(DataType type) {
  if (type == DataType::i8) return std::numeric_limits<int8_t>::min();
  return type == DataType::u8 ? 0 : -std::numeric_limits<double>::infinity();
}

void max_pool(const XlaCall& call) {
  call.expect_outputs(1);
  const HloValue x = call.in(0);
  call.out(0, call.hlo.reduce_window("maximum", x, least_of(x.type), window_of(node_window(call, call.ints_of("kernel_shape", {})))));
}

void average_pool(const XlaCall& call) {
  const NodeWindow w = node_window(call, call.ints_of("kernel_shape", {}));
  const Tensor counts = counted_taps(w, call.int_of("count_include_pad", 0) != 0);
  call.out_of_float32([&](const HloValue& x) {
    const HloValue sum = call.hlo.reduce_window("add", x, 0, window_of(w));
    return call.hlo.binary("divide", sum, call.hlo.convert(call.hlo.constant(counts), x.type));
  });
}

void global_average_pool(const XlaCall& call) {
  const Ints axes = spatial_axes(call);
  const Shape shape = call.shape(0);
  call.out_of_float32([&](const HloValue& x) {
    const auto places = static_cast<double>(element_count(std::span(shape).subspan(2)));
    return call.hlo.binary("divide", call.hlo.reduce("add", x, 0, axes, true), places);
  });
}

void global_max_pool(const XlaCall& call) {
  const HloValue x = call.in(0);
  call.out(0, call.hlo.reduce("maximum", x, least_of(x.type), spatial_axes(call), true));
}

const bool registered[] = {
    add_xla_operator("AveragePool", average_pool),      add_xla_operator("Conv", conv),
    add_xla_operator("ConvTranspose", conv_transpose),  add_xla_operator("GlobalAveragePool", global_average_pool),
    add_xla_operator("GlobalMaxPool", global_max_pool), add_xla_operator("MaxPool", max_pool),
};

}  // namespace
}  // namespace deepgap
