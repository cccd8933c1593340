// Convolutions and transposed convolutions, with channels last and filters as TensorFlow lays them out: places, inputs, outputs.
#include "backends/tensorflow/tf_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace deepgap {
namespace {

using Ints = std::vector<int64_t>;

Ints with_ends(const Ints& middle) {
  Ints made{1};
  made.insert(made.end(), middle.begin(), middle.end());
  made.push_back(1);
  return made;
}

Ints pads_of_all(const TfWindow& w, const Ints& ends) {
  Ints pads{0, 0};
  for (size_t i = 0; i < w.rank(); ++i) pads.insert(pads.end(), {w.begins[i], ends[i]});
  pads.insert(pads.end(), {0, 0});
  return pads;
}

TfOutput pad_places(TfScope& s, TfOutput x, Ints begins, Ints ends) {
  for (Ints* pads : {&begins, &ends}) {
    pads->insert(pads->begin(), 0);
    pads->push_back(0);
  }
  return s.pad(x, begins, ends, 0);
}

TfOutput image_of(const TfCall& call, const TfWindow& w) {
  const TfOutput x = call.in_last(0);
  return w.widened ? call.scope.make("ExpandDims").in(x).in(call.scope.index(1)).out() : x;
}

// ONNX's [a, b, places] to [places, `first`, `second`], each 0 (a) or 1 (b).
TfOutput filter_of(const TfCall& call, const TfWindow& w, int64_t first, int64_t second) {
  const size_t places = call.shape(1).size() - 2;
  Ints order(places);
  std::iota(order.begin(), order.end(), 2);
  order.insert(order.end(), {first, second});
  const TfOutput filter = call.in_order(1, order);
  return w.widened ? call.scope.make("ExpandDims").in(filter).in(call.scope.index(0)).out() : filter;
}

// The filter with the holes of its dilation written out as zeros, and the window without them: for kernels that have no dilation.
TfOutput filled_filter(const TfCall& call, TfWindow& w, TfOutput filter, int64_t third, int64_t fourth) {
  TfScope& s = call.scope;
  for (size_t i = 0; i < w.rank(); ++i) {
    const int64_t d = w.dilations[i], k = w.kernel[i];
    if (d == 1 || k == 1) {
      w.dilations[i] = 1;
      continue;
    }
    // [.., k, ..] to [.., k, 1, ..], padded to [.., k, d, ..], joined to [.., k * d, ..] and cut behind the last tap.
    Shape split(w.kernel.begin(), w.kernel.end());
    split.insert(split.end(), {third, fourth});
    Shape joined = split, begins(split.size() + 1, 0), ends(split.size() + 1, 0);
    split.insert(split.begin() + static_cast<std::ptrdiff_t>(i) + 1, 1);
    ends[i + 1] = d - 1;
    joined[i] = k * d;
    filter = s.reshape(s.pad(s.reshape(filter, split), begins, ends, 0), joined);
    w.kernel[i] = (k - 1) * d + 1;
    joined[i] = w.kernel[i];
    filter = s.slice(filter, Ints(joined.size(), 0), joined);
    w.dilations[i] = 1;
  }
  return filter;
}

TfOutput convolved_image(const TfCall& call, TfOutput x, TfOutput filter, const TfWindow& w) {
  // The gradient of Conv2D in the library knows the pads SAME and VALID only.
  const bool trains = call.values.trains(), same = trains && pads_as_same(w);
  if (trains && !same) x = pad_places(call.scope, x, w.begins, w.ends);
  TfMaker maker = call.scope.make("Conv2D");
  maker.in(x).in(filter).integers("strides", with_ends(w.strides)).integers("dilations", with_ends(w.dilations));
  if (trains) return maker.text("padding", same ? "SAME" : "VALID").out();
  const bool padded = std::any_of(w.begins.begin(), w.begins.end(), [](int64_t p) { return p != 0; }) ||
                      std::any_of(w.ends.begin(), w.ends.end(), [](int64_t p) { return p != 0; });
  if (!padded) return maker.text("padding", "VALID").out();
  return maker.text("padding", "EXPLICIT").integers("explicit_paddings", pads_of_all(w, w.ends)).out();
}

TfOutput convolved_volume(const TfCall& call, TfOutput x, TfOutput filter, const TfWindow& w) {
  return call.scope.make("Conv3D")
      .in(pad_places(call.scope, x, w.begins, w.ends))
      .in(filter)
      .integers("strides", with_ends(w.strides))
      .text("padding", "VALID")
      .out();
}

// Group by group, each with its part of the input and of the filter.
template <typename Function>
TfOutput group_by_group(TfScope& s, TfOutput x, TfOutput filter, int64_t groups, int64_t rank, int64_t filter_axis, Function convolve) {
  const TfOutput xs = s.make("Split").in(s.index(rank - 1)).in(x).integer("num_split", groups).out();
  const TfOutput filters = s.make("Split").in(s.index(filter_axis)).in(filter).integer("num_split", groups).out();
  std::vector<TfOutput> parts;
  for (int g = 0; g < static_cast<int>(groups); ++g) parts.push_back(convolve(TfOutput{xs.operation, g}, TfOutput{filters.operation, g}));
  return s.concat(parts, rank - 1);
}

TfOutput depthwise(const TfCall& call, TfOutput x, TfWindow w, int64_t channels, int64_t multiple) {
  TfScope& s = call.scope;
  // [places, channels, multiple]: ONNX counts outputs channel by channel.
  const int64_t outputs = channels * multiple;
  TfOutput filter = filled_filter(call, w, filter_of(call, w, 1, 0), 1, outputs);
  filter = s.reshape(filter, {w.kernel[0], w.kernel[1], channels, multiple});
  return s.make("DepthwiseConv2dNative")
      .in(pad_places(s, x, w.begins, w.ends))
      .in(filter)
      .integers("strides", with_ends(w.strides))
      .text("padding", "VALID")
      .out();
}

TfOutput convolved(const TfCall& call, TfOutput x, TfWindow w) {
  const Shape weights = call.shape(1);
  const int64_t groups = call.int_of("group", 1), channels = call.shape(0)[1];
  if (groups > 1 && groups == channels && w.rank() == 2 && w.strides[0] == w.strides[1])
    return depthwise(call, x, w, channels, weights[0] / groups);
  TfOutput filter = filter_of(call, w, 1, 0);
  // Conv3D has no dilation, and the gradient of Conv2D in the library has none.
  if (w.rank() == 3 || call.values.trains()) filter = filled_filter(call, w, filter, weights[1], weights[0]);
  const auto convolve = [&](TfOutput part, TfOutput part_filter) {
    return w.rank() == 3 ? convolved_volume(call, part, part_filter, w) : convolved_image(call, part, part_filter, w);
  };
  const auto rank = static_cast<int64_t>(w.rank()) + 2;
  return groups == 1 ? convolve(x, filter) : group_by_group(call.scope, x, filter, groups, rank, rank - 1, convolve);
}

void finish(const TfCall& call, TfOutput y, const TfWindow& w) {
  if (w.widened) y = call.scope.make("Squeeze").in(y).integers("squeeze_dims", {1}).out();
  if (call.has(2)) y = call.scope.binary("BiasAdd", y, call.in(2));
  call.out_last(0, y);
}

void conv(const TfCall& call) {
  const Shape weights = call.shape(1);
  const TfWindow w = tf_window(call, Ints(weights.begin() + 2, weights.end()));
  finish(call, convolved(call, image_of(call, w), w), w);
}

// Sets the elements that a transposed convolution's output loses at its begins and ends, from its inferred shape.
void set_cut(const TfCall& call, TfWindow& w) {
  const bool upper = call.text_of("auto_pad", "NOTSET") == "SAME_UPPER";
  const bool given = call.text_of("auto_pad", "NOTSET") == "NOTSET" && call.ints_of("output_shape", {}).empty();
  Ints output_padding = call.ints_of("output_padding", Ints(w.widened ? 1 : w.rank(), 0));
  if (w.widened) output_padding.insert(output_padding.begin(), 0);
  for (size_t i = 0; i < w.rank(); ++i) {
    const int64_t total = (w.in[i] - 1) * w.strides[i] + w.extent(i) + output_padding[i] - w.out[i];
    if (!given) w.begins[i] = upper ? total / 2 : total - total / 2;
    if (w.begins[i] < 0) call.refuse("negative pads");
  }
}

// The gradient of a convolution whose input has the shape of all positions that the kernel reaches; what is asked for is cut out of it.
TfOutput transposed(const TfCall& call, TfOutput x, TfOutput filter, const TfWindow& w, int64_t outputs) {
  TfScope& s = call.scope;
  Shape reached{call.shape(0)[0]}, begins{0}, beyond{0}, sizes{call.shape(0)[0]};
  for (size_t i = 0; i < w.rank(); ++i) {
    reached.push_back((w.in[i] - 1) * w.strides[i] + w.extent(i));
    begins.push_back(w.begins[i]);
    beyond.push_back(std::max<int64_t>(0, w.begins[i] + w.out[i] - reached.back()));
    sizes.push_back(w.out[i]);
  }
  for (Shape* one : {&reached, &sizes}) one->push_back(outputs);
  for (Shape* one : {&begins, &beyond}) one->push_back(0);
  const TfOutput whole = s.make(w.rank() == 3 ? "Conv3DBackpropInputV2" : "Conv2DBackpropInput")
                             .in(s.ints(reached))
                             .in(filter)
                             .in(x)
                             .integers("strides", with_ends(w.strides))
                             .text("padding", "VALID")
                             .out();
  const TfOutput filled = s.pad(whole, Ints(begins.size(), 0), beyond, 0);
  return sizes == reached && std::all_of(begins.begin(), begins.end(), [](int64_t b) { return b == 0; }) ? filled
                                                                                                         : s.slice(filled, begins, sizes);
}

void conv_transpose(const TfCall& call) {
  const Shape weights = call.shape(1);
  TfWindow w = tf_window(call, Ints(weights.begin() + 2, weights.end()));
  set_cut(call, w);
  const int64_t groups = call.int_of("group", 1), outputs = weights[1];  // outputs of one group
  const TfOutput x = image_of(call, w);
  const TfOutput filter = filled_filter(call, w, filter_of(call, w, 1, 0), outputs, weights[0]);
  const auto rank = static_cast<int64_t>(w.rank()) + 2;
  const auto transpose = [&](TfOutput part, TfOutput part_filter) { return transposed(call, part, part_filter, w, outputs); };
  finish(call, groups == 1 ? transpose(x, filter) : group_by_group(call.scope, x, filter, groups, rank, rank - 1, transpose), w);
}

const bool registered[] = {
    add_tf_operator("Conv", conv),
    add_tf_operator("ConvTranspose", conv_transpose),
};

}  // namespace
}  // namespace deepgap
