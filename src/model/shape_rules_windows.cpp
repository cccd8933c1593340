// Operators that slide a window: convolutions and pooling; and BatchNormalization, which stands beside them.
#include "model/shape_rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

constexpr int64_t window_limit = int64_t{1} << 31;  // limit for kernels, strides and pads: keeps the arithmetic below from overflowing

struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads;  // pads: all begins, then all ends
  std::string auto_pad;
  bool ceil_mode = false;
};

std::vector<int64_t> window_ints(ShapeContext& context, const char* name, size_t count, int64_t fallback, int64_t least) {
  const auto found = context.node.attributes.find(name);
  if (found == context.node.attributes.end()) return std::vector<int64_t>(count, fallback);
  const auto* values = std::get_if<std::vector<int64_t>>(&found->second);
  if (values == nullptr || values->size() != count) context.fail(fmt::format("{} should be {} integers", name, count));
  for (const int64_t value : *values) {
    if (value < least || value > window_limit) context.fail(fmt::format("{} holds {}", name, value));
  }
  return *values;
}

Window read_window(ShapeContext& context, std::vector<int64_t> kernel) {
  const size_t rank = kernel.size();
  Window window{std::move(kernel),
                window_ints(context, "strides", rank, 1, 1),
                window_ints(context, "dilations", rank, 1, 1),
                window_ints(context, "pads", 2 * rank, 0, -window_limit),
                "",
                false};
  const auto& attributes = context.node.attributes;
  if (const auto found = attributes.find("auto_pad"); found != attributes.end()) {
    const auto* text = std::get_if<std::string>(&found->second);
    if (text == nullptr || (*text != "NOTSET" && *text != "SAME_UPPER" && *text != "SAME_LOWER" && *text != "VALID" && !text->empty()))
      context.fail("auto_pad should be NOTSET, SAME_UPPER, SAME_LOWER or VALID");
    window.auto_pad = *text;
  }
  if (const auto found = attributes.find("ceil_mode"); found != attributes.end()) {
    const auto* value = std::get_if<int64_t>(&found->second);
    window.ceil_mode = value != nullptr && *value != 0;
  }
  return window;
}

Dim slide(ShapeContext& context, const Window& window, size_t i, const Dim& in) {
  const size_t rank = window.kernel.size();
  const int64_t stride = window.strides[i];
  const int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
  const bool same = window.auto_pad == "SAME_UPPER" || window.auto_pad == "SAME_LOWER";
  const int64_t pads = window.auto_pad == "VALID" ? 0 : window.pads[i] + window.pads[rank + i];
  if (!in.known()) {
    // The one case an open size can carry through: the picture stays as large as it is, or shrinks by a whole factor.
    if (stride == 1 && (same || pads == reach - 1)) return in;
    if (same && in.size % stride == 0) return {in.size / stride, in.symbol};
    return context.unknown(0, i + 2);
  }
  if (same) return fixed_dim((in.size + stride - 1) / stride);
  const int64_t room = in.size + pads - reach;
  if (room < 0) context.fail(fmt::format("its window of {} is larger than its padded input of {}", reach, in.size + pads));
  int64_t out = room / stride + 1;
  if (window.ceil_mode) {
    out = (room + stride - 1) / stride + 1;
    // A window may not begin in the padding at the end.
    if ((out - 1) * stride >= in.size + window.pads[i]) --out;
  }
  return fixed_dim(out);
}

int64_t positive_int(ShapeContext& context, const char* name, int64_t fallback) {
  const auto found = context.node.attributes.find(name);
  if (found == context.node.attributes.end()) return fallback;
  const auto* value = std::get_if<int64_t>(&found->second);
  if (value == nullptr || *value < 1 || *value > window_limit) context.fail(fmt::format("{} should be a positive integer", name));
  return *value;
}

// Sizes of the kernel from the weights [out, in/group, k...], which have to agree with kernel_shape.
std::optional<std::vector<int64_t>> kernel_of(ShapeContext& context, const Dims& weights) {
  std::vector<int64_t> kernel;
  for (size_t i = 2; i < weights.size(); ++i) {
    if (!weights[i].known()) return std::nullopt;
    if (weights[i].size < 1 || weights[i].size > window_limit) context.fail(fmt::format("its weights have shape {}", to_string(weights)));
    kernel.push_back(weights[i].size);
  }
  if (context.node.attributes.count("kernel_shape") != 0 && window_ints(context, "kernel_shape", kernel.size(), 1, 1) != kernel)
    context.fail(fmt::format("kernel_shape differs from its weights {}", to_string(weights)));
  return kernel;
}

// ConvInteger has zero points there.
bool has_bias(ShapeContext& context) { return context.has(2) && context.node.op != "ConvInteger"; }

void check_weights(ShapeContext& context, const Dims& x, const Dims& w) {
  if (x.size() < 3 || x.size() != w.size())
    context.fail(fmt::format("input {} and weights {} do not go together", to_string(x), to_string(w)));
  if (!has_bias(context) || !context.dims(2)) return;
  const Dims& bias = *context.dims(2);
  if (bias.size() != 1) context.fail(fmt::format("its bias has shape {}", to_string(bias)));
}

void conv(ShapeContext& context) {
  const auto& x = context.dims(0);
  const auto& w = context.dims(1);
  context.set(0, context.type(0), std::nullopt);
  if (!x || !w) return;
  check_weights(context, *x, *w);
  const int64_t group = positive_int(context, "group", 1);
  const Dim& channels = (*x)[1];
  if (channels.known() && (*w)[1].known() && multiply((*w)[1], fixed_dim(group)) != channels)
    context.fail(fmt::format("{} input channels, but weights {} in {} groups", channels.size, to_string(*w), group));
  if ((*w)[0].known() && (*w)[0].size % group != 0) context.fail(fmt::format("{} output channels in {} groups", (*w)[0].size, group));
  if (has_bias(context) && context.dims(2) && (*w)[0].known() && (*context.dims(2))[0].known() && (*context.dims(2))[0] != (*w)[0])
    context.fail(fmt::format("{} biases for {} output channels", (*context.dims(2))[0].size, (*w)[0].size));
  const auto kernel = kernel_of(context, *w);
  if (!kernel) return;
  const Window window = read_window(context, *kernel);
  Dims out{(*x)[0], (*w)[0]};
  for (size_t i = 0; i < kernel->size(); ++i) out.push_back(slide(context, window, i, (*x)[i + 2]));
  context.set(0, context.type(0), std::move(out));
}

void conv_integer(ShapeContext& context) {
  conv(context);
  context.retype(0, DataType::i32);
}

Dim widen(ShapeContext& context, const Window& window, const std::vector<int64_t>& output_padding, size_t i, const Dim& in) {
  const size_t rank = window.kernel.size();
  const bool same = window.auto_pad == "SAME_UPPER" || window.auto_pad == "SAME_LOWER";
  const int64_t stride = window.strides[i];
  const int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
  const int64_t pads = window.auto_pad == "VALID" ? 0 : window.pads[i] + window.pads[rank + i];
  const int64_t rest = same ? 0 : output_padding[i] + reach - pads - stride;
  if (rest == 0) return multiply(in, fixed_dim(stride)).value_or(context.unknown(0, i + 2));
  if (!in.known() || in.size > window_limit) return context.unknown(0, i + 2);
  return fixed_dim(in.size * stride + rest);
}

void conv_transpose(ShapeContext& context) {
  const auto& x = context.dims(0);
  const auto& w = context.dims(1);  // [in, out/group, k...]
  context.set(0, context.type(0), std::nullopt);
  if (!x || !w) return;
  check_weights(context, *x, *w);
  if ((*x)[1].known() && (*w)[0].known() && (*x)[1] != (*w)[0])
    context.fail(fmt::format("{} input channels, but weights {}", (*x)[1].size, to_string(*w)));
  const auto kernel = kernel_of(context, *w);
  const auto channels = multiply((*w)[1], fixed_dim(positive_int(context, "group", 1)));
  if (!kernel || !channels) return;
  const Window window = read_window(context, *kernel);
  const auto output_padding = window_ints(context, "output_padding", kernel->size(), 0, 0);
  Dims out{(*x)[0], *channels};
  const bool given = context.node.attributes.count("output_shape") != 0;
  const auto output_shape = window_ints(context, "output_shape", kernel->size(), 0, 1);
  for (size_t i = 0; i < kernel->size(); ++i)
    out.push_back(given ? fixed_dim(output_shape[i]) : widen(context, window, output_padding, i, (*x)[i + 2]));
  context.set(0, context.type(0), std::move(out));
}

void pool(ShapeContext& context) {
  const auto& x = context.dims(0);
  context.set(0, context.type(0), std::nullopt);
  context.set(1, DataType::i64, std::nullopt);
  if (!x) return;
  if (x->size() < 3) context.fail(fmt::format("its input has shape {}", to_string(*x)));
  if (context.node.attributes.count("kernel_shape") == 0) context.fail("kernel_shape is missing");
  const Window window = read_window(context, window_ints(context, "kernel_shape", x->size() - 2, 1, 1));
  Dims out{(*x)[0], (*x)[1]};
  for (size_t i = 0; i < window.kernel.size(); ++i) out.push_back(slide(context, window, i, (*x)[i + 2]));
  context.set(0, context.type(0), out);
  context.set(1, DataType::i64, std::move(out));
}

void global_pool(ShapeContext& context) {
  std::optional<Dims> dims = context.dims(0);
  if (dims && dims->size() < 2) context.fail(fmt::format("its input has shape {}", to_string(*dims)));
  if (dims) std::fill(dims->begin() + 2, dims->end(), fixed_dim(1));
  context.set(0, context.type(0), std::move(dims));
}

// Inputs 1 to `last` hold one number a channel.
void check_per_channel(ShapeContext& context, size_t last) {
  const auto& x = context.dims(0);
  if (!x) return;
  if (x->size() < 2) context.fail(fmt::format("its input has shape {}", to_string(*x)));
  for (size_t i = 1; i <= last; ++i) {
    const auto& part = context.dims(i);
    if (!part) continue;
    const bool fits = part->size() == 1 && (!(*part)[0].known() || !(*x)[1].known() || (*part)[0] == (*x)[1]);
    if (!fits) context.fail(fmt::format("input {} has shape {}, its data {}", i, to_string(*part), to_string(*x)));
  }
}

void batch_normalization(ShapeContext& context) {
  check_per_channel(context, 4);
  context.set(0, context.type(0), context.dims(0));
  for (size_t i = 1; i < context.node.outputs.size(); ++i) context.set(i, context.type(1), context.dims(1));
}

void instance_normalization(ShapeContext& context) {
  check_per_channel(context, 2);
  context.set(0, context.type(0), context.dims(0));
}

const bool registered = add_shape_rules({{"Conv", conv},
                                         {"ConvInteger", conv_integer},
                                         {"ConvTranspose", conv_transpose},
                                         {"MaxPool", pool},
                                         {"AveragePool", pool},
                                         {"LpPool", pool},
                                         {"GlobalAveragePool", global_pool},
                                         {"GlobalMaxPool", global_pool},
                                         {"GlobalLpPool", global_pool},
                                         {"BatchNormalization", batch_normalization},
                                         {"InstanceNormalization", instance_normalization}});

}  // namespace

}  // namespace deepgap
