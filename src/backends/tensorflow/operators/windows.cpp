// Convolutions and pools, with channels last. TensorFlow pads a convolution of images as given, other windows only by rules of its own:
// where ONNX asks for something else, the input is padded first, so that the window walks over exactly the positions that the inferred
// output shape has.
#include "backends/tensorflow/tf_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace deepgap {
namespace {

using Ints = std::vector<int64_t>;

bool all_are(const Ints& values, int64_t wanted) {
  return std::all_of(values.begin(), values.end(), [wanted](int64_t value) { return value == wanted; });
}

// Pads the axes between batch and channels, which stay as they are.
TfOutput padded(TfScope& s, TfOutput x, Ints begins, Ints ends, double value) {
  for (Ints* pads : {&begins, &ends}) {
    pads->insert(pads->begin(), 0);
    pads->push_back(0);
  }
  return s.pad(x, begins, ends, value);
}

// A line of places becomes an image of one row.
TfOutput as_image(const TfCall& call, TfOutput x, const TfWindow& w) {
  if (!w.widened) return x;
  return call.scope.make("ExpandDims").in(x).in(call.scope.index(1)).out();
}
TfOutput as_line(const TfCall& call, TfOutput x, const TfWindow& w) {
  return w.widened ? call.scope.make("Squeeze").in(x).integers("squeeze_dims", {1}).out() : x;
}

// 1, the middle, 1.
Ints around(const Ints& middle) {
  Ints made{1};
  made.insert(made.end(), middle.begin(), middle.end());
  made.push_back(1);
  return made;
}

// The ends with which rounding down gives the inferred positions.
Ints reaching_ends(const TfWindow& w) {
  Ints ends;
  for (size_t i = 0; i < w.rank(); ++i)
    ends.push_back(std::max(w.ends[i], (w.out[i] - 1) * w.strides[i] + w.extent(i) - w.in[i] - w.begins[i]));
  return ends;
}

// The largest finite number would show where only padding is seen; of integers it is their least.
double least_of(DataType type) {
  switch (type) {
    case DataType::i8:
      return std::numeric_limits<int8_t>::min();
    case DataType::u8:
      return 0;
    default:
      return -std::numeric_limits<double>::infinity();
  }
}

TfOutput pooled(const TfCall& call, const char* image, const char* volume, TfOutput x, const TfWindow& w) {
  return call.scope.make(w.rank() == 3 ? volume : image)
      .in(x)
      .integers("ksize", around(w.kernel))
      .integers("strides", around(w.strides))
      .text("padding", "VALID")
      .out();
}

// The largest of what each tap of the window sees: for windows with holes, which TensorFlow's pools do not have.
TfOutput largest_of_taps(const TfCall& call, TfOutput x, const TfWindow& w) {
  TfScope& s = call.scope;
  const int64_t taps = element_count(w.kernel);
  TfOutput y;
  for (int64_t tap = 0; tap < taps; ++tap) {
    Ints begins{0}, ends{0}, strides{1};
    int64_t left = tap;
    Ints places(w.rank());
    for (size_t i = w.rank(); i-- > 0; left /= w.kernel[i]) places[i] = left % w.kernel[i];
    for (size_t i = 0; i < w.rank(); ++i) {
      begins.push_back(places[i] * w.dilations[i]);
      ends.push_back(begins.back() + (w.out[i] - 1) * w.strides[i] + 1);
      strides.push_back(w.strides[i]);
    }
    const TfOutput seen = s.make("StridedSlice")
                              .in(x)
                              .in(s.ints(begins))
                              .in(s.ints(ends))
                              .in(s.ints(strides))
                              .integer("begin_mask", 1)
                              .integer("end_mask", 1)
                              .out();
    y = tap == 0 ? seen : s.binary("Maximum", y, seen);
  }
  return y;
}

void max_pool(const TfCall& call) {
  call.expect_outputs(1);
  const TfWindow w = tf_window(call, call.ints_of("kernel_shape", {}));
  const TfOutput x = padded(call.scope, as_image(call, call.in_last(0), w), w.begins, reaching_ends(w), least_of(call.type(0)));
  const TfOutput y = all_are(w.dilations, 1) ? pooled(call, "MaxPool", "MaxPool3D", x, w) : largest_of_taps(call, x, w);
  call.out_last(0, as_line(call, y, w));
}

// By what an average over the whole window must be multiplied to be one over the elements that count.
Tensor corrections(const TfWindow& w, bool counts_padding) {
  Tensor counts = counted_taps(w, counts_padding);
  counts.shape = around(w.out);
  const auto taps = static_cast<float>(element_count(w.kernel));
  for (float& value : writable<float>(counts)) value = taps / value;
  return counts;
}

TfOutput corrected(const TfCall& call, TfOutput y, const Tensor& factors) {
  const auto values = factors.as<float>();
  if (std::all_of(values.begin(), values.end(), [](float f) { return f == 1; })) return y;
  return call.scope.binary("Mul", y, call.scope.cast(call.scope.constant(factors), TfScope::type_of(y)));
}

void average_pool(const TfCall& call) {
  const TfWindow w = tf_window(call, call.ints_of("kernel_shape", {}));
  if (!all_are(w.dilations, 1)) call.refuse("dilations");
  const bool counts_padding = call.int_of("count_include_pad", 0) != 0;
  const TfOutput image = as_image(call, call.in_last(0), w);
  if (!counts_padding && w.rank() == 2 && pads_as_same(w)) {
    const TfOutput y = call.scope.make("AvgPool")
                           .in(image)
                           .integers("ksize", around(w.kernel))
                           .integers("strides", around(w.strides))
                           .text("padding", "SAME")
                           .out();
    return call.out_last(0, as_line(call, y, w));
  }
  const TfOutput x = padded(call.scope, image, w.begins, reaching_ends(w), 0);
  const TfOutput y = corrected(call, pooled(call, "AvgPool", "AvgPool3D", x, w), corrections(w, counts_padding));
  call.out_last(0, as_line(call, y, w));
}

// The p-norm of each window, from averages of powers.
void lp_pool(const TfCall& call) {
  const TfWindow w = tf_window(call, call.ints_of("kernel_shape", {}));
  if (!all_are(w.dilations, 1)) call.refuse("dilations");
  TfScope& s = call.scope;
  const auto p = static_cast<double>(call.int_of("p", 2));
  const TfOutput x = as_image(call, call.in_last(0), w);
  const TfType type = TfScope::type_of(x);
  const TfOutput powers = s.binary("Pow", s.unary("Abs", x), s.number(type, p));
  const TfOutput average = pooled(call, "AvgPool", "AvgPool3D", padded(s, powers, w.begins, reaching_ends(w), 0), w);
  const TfOutput sum = s.binary("Mul", average, s.number(type, static_cast<double>(element_count(w.kernel))));
  call.out_last(0, as_line(call, s.binary("Pow", sum, s.number(type, 1 / p)), w));
}

void global_pool(const TfCall& call, const char* reduction) {
  const Ints axes = spatial_axes(call);
  const TfLayout layout = call.layout();
  call.out(0, call.scope.reduce(reduction, call.in(0, layout), layout.axes(axes), true), layout);
}
void global_average_pool(const TfCall& call) { global_pool(call, "Mean"); }
void global_max_pool(const TfCall& call) { global_pool(call, "Max"); }

void global_lp_pool(const TfCall& call) {
  const Ints axes = spatial_axes(call);
  const TfLayout layout = call.layout();
  TfScope& s = call.scope;
  const auto p = static_cast<double>(call.int_of("p", 2));
  const TfOutput x = call.in(0, layout);
  const TfType type = TfScope::type_of(x);
  const TfOutput sum = s.reduce("Sum", s.binary("Pow", s.unary("Abs", x), s.number(type, p)), layout.axes(axes), true);
  call.out(0, s.binary("Pow", sum, s.number(type, 1 / p)), layout);
}

const bool registered[] = {
    add_tf_operator("AveragePool", average_pool),
    add_tf_operator("GlobalAveragePool", global_average_pool),
    add_tf_operator("GlobalLpPool", global_lp_pool),
    add_tf_operator("GlobalMaxPool", global_max_pool),
    add_tf_operator("LpPool", lp_pool),
    add_tf_operator("MaxPool", max_pool),
};

}  // namespace
}  // namespace deepgap
