#include "engine/gpu/pointwise.h"

#include "engine/gpu/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap::gpu {
namespace {

// Elements of an operand that lie one behind another along an axis of stride 1. Where all axes behind it have one element, as of a number
// for each channel, the pitch is that of another axis.
int64_t extent_along(const Operand& in, size_t axis) { return innermost(in.shape, in.form) == axis ? in.form.pitch : in.shape[axis]; }

bool one_for_all_lanes(const Operand& in, const Operand& out) {
  const size_t lead = out.shape.size() - in.shape.size(), axis = innermost(out.shape, out.form);
  return out.shape.empty() || axis < lead || in.shape[axis - lead] == 1;
}

// Returns whether the operand's elements at `extent` places of the result's innermost axis, which it has, lie in whole vectors of `lanes`.
bool lies_in_lanes(const Operand& in, const Operand& out, int64_t lanes, int64_t extent) {
  const size_t axis = innermost(out.shape, out.form), lead = out.shape.size() - in.shape.size();
  if (in.strides[axis - lead] != 1 || extent_along(in, axis - lead) < extent) return false;
  for (size_t i = 0; i < in.shape.size(); ++i)
    if (i != axis - lead && in.shape[i] > 1 && in.strides[i] % lanes != 0) return false;
  return true;
}

// Returns whether each vector of the result is one of one operand of those side by side.
bool lie_beside_in_lanes(const PointwiseKernel& kernel, int64_t lanes) {
  const Operand& out = kernel.out;
  const bool inner = kernel.axis == innermost(out.shape, out.form);
  int64_t begin = 0;
  const auto lies = [&](const Operand& part, bool is_last) {
    const int64_t size = part.shape[kernel.axis], extent = !inner || is_last ? out.form.pitch - (inner ? begin : 0) : size;
    const bool whole = !inner || begin % lanes == 0;
    begin += size;
    return whole && lies_in_lanes(part, out, lanes, extent);
  };
  bool all = lies(kernel.in[0], kernel.beside.empty());
  for (const Operand& part : kernel.beside) all = lies(part, &part == &kernel.beside.back()) && all;
  return all;
}

bool lies_in_lanes(const PointwiseKernel& kernel, int64_t lanes) {
  if (kernel.out.form.pitch % lanes != 0) return false;
  if (!kernel.beside.empty() && !lie_beside_in_lanes(kernel, lanes)) return false;
  return std::all_of(kernel.in.begin() + (kernel.beside.empty() ? 0 : 1), kernel.in.end(), [&](const Operand& in) {
    return one_for_all_lanes(in, kernel.out) || lies_in_lanes(in, kernel.out, lanes, kernel.out.form.pitch);
  });
}

// Lanes of the innermost axis that a thread does at once: as many as 16 bytes hold of the widest type that is read or written for each
// element, else half as many, or fewer.
int64_t lanes_of(const PointwiseKernel& kernel) {
  if (kernel.out.shape.empty()) return 1;
  size_t widest = byte_size(kernel.out.form.element);
  for (const Operand& in : kernel.in)
    if (in.shape == kernel.out.shape || (&in == &kernel.in[0] && !kernel.beside.empty()))
      widest = std::max(widest, byte_size(in.form.element));
  int64_t lanes = vector_bytes / static_cast<int64_t>(widest);
  while (lanes > 1 && !lies_in_lanes(kernel, lanes)) lanes /= 2;
  return lanes;
}

// `begin`: where along `axis` of the result the operand's own elements begin.
std::string offset_text(const Operand& in, const Shape& out, size_t axis = 0, int64_t begin = 0) {
  const size_t lead = out.size() - in.shape.size();
  std::string text;
  for (size_t i = 0; i < in.shape.size(); ++i) {
    const std::string place = begin != 0 && i + lead == axis ? fmt::format("(c{} - I({}))", i + lead, begin) : fmt::format("c{}", i + lead);
    if (in.shape[i] > 1 || begin != 0) text += fmt::format("{}{} * I({})", text.empty() ? "" : " + ", place, in.strides[i]);
  }
  return text.empty() ? "0" : text;
}

bool lies_as(const Operand& in, const Operand& out) {
  return in.shape == out.shape && in.strides == out.strides && in.form.pitch == out.form.pitch;
}

bool is_one_number(const Operand& in) { return element_count(in.shape) == 1; }

// Coordinates of the group of `lanes` elements number i.
std::string unravel(const Operand& out, int64_t lanes) {
  const auto order = order_of(out.shape, out.form);
  std::string text = "  I rest = i;\n";
  for (size_t k = order.size(); k-- > 0;) {
    const bool inner = k + 1 == order.size();
    const int64_t size = inner ? out.form.pitch / lanes : out.shape[order[k]];
    const std::string scale = inner && lanes > 1 ? fmt::format(" * {}", lanes) : "";
    text += k == 0 ? fmt::format("  const I c{} = rest{};\n", order[k], scale)
                   : fmt::format("  const I c{} = rest % I({}){}; rest /= I({});\n", order[k], size, scale, size);
  }
  return text;
}

std::string vector_type(size_t bytes) {
  return bytes == 16 ? "uint4" : bytes == 8 ? "uint2" : bytes == 4 ? "unsigned int" : bytes == 2 ? "unsigned short" : "unsigned char";
}

// Copies `lanes` elements from `address` to u0, u1, ...: in one access of at most 16 bytes, or in several.
std::string load_vector(const Operand& in, size_t index, int64_t lanes, const std::string& address) {
  const size_t bytes = byte_size(in.form.element) * static_cast<size_t>(lanes);
  std::string text = fmt::format("  alignas(16) {} u{}[{}];\n", c_type(in.form.element), index, lanes);
  for (size_t v = 0; v == 0 || v < bytes / vector_bytes; ++v)
    text += fmt::format("  (({0}*)u{1})[{2}] = ((const {0}*)({3}))[{2}];\n", vector_type(std::min<size_t>(bytes, vector_bytes)), index, v,
                        address);
  return text;
}

// The address is chosen, and read once: branches that read would make a warp wait for each of its operands.
std::string load_beside(const PointwiseKernel& kernel, int64_t lanes) {
  const Shape& out = kernel.out.shape;
  int64_t begin = kernel.in[0].shape[kernel.axis];
  std::string text = fmt::format("  const {}* p = x0 + {};\n", c_type(kernel.in[0].form.element), offset_text(kernel.in[0], out));
  for (size_t n = 0; n < kernel.beside.size(); ++n) {
    text +=
        fmt::format("  p = c{} < I({}) ? p : y{} + ({});\n", kernel.axis, begin, n, offset_text(kernel.beside[n], out, kernel.axis, begin));
    begin += kernel.beside[n].shape[kernel.axis];
  }
  return text + load_vector(kernel.in[0], 0, lanes, "p");
}

std::string load_lanes(const PointwiseKernel& kernel, size_t index, int64_t lanes, bool flat) {
  if (index == 0 && !kernel.beside.empty()) return load_beside(kernel, lanes);
  const Operand& in = kernel.in[index];
  const std::string type = c_type(in.form.element);
  const std::string offset = is_one_number(in) ? "0" : flat ? fmt::format("i * I({})", lanes) : offset_text(in, kernel.out.shape);
  if (one_for_all_lanes(in, kernel.out)) return fmt::format("  const {} u{} = x{}[{}];\n", type, index, index, offset);
  return load_vector(in, index, lanes, fmt::format("x{} + {}", index, offset));
}

// Padding of the result, written before anything is read: an operand of a shorter pitch ends before it.
std::string padding_text(const Operand& out) {
  const size_t axis = innermost(out.shape, out.form);
  return fmt::format("  if (c{} >= {}) {{\n    out[i] = 0;\n    return;\n  }}\n", axis, out.shape[axis]);
}

// Returns the text that computes each lane and stores all together.
std::string lanes_text(const PointwiseKernel& kernel, int64_t lanes) {
  const Operand& out = kernel.out;
  std::string text =
      fmt::format("  alignas(16) {} o[{}];\n#pragma unroll\n  for (int j = 0; j < {}; ++j) {{\n", c_type(out.form.element), lanes, lanes);
  for (size_t k = 0; k < kernel.in.size(); ++k) {
    const Element element = kernel.in[k].form.element;
    const bool one = one_for_all_lanes(kernel.in[k], out) && (k > 0 || kernel.beside.empty());
    const std::string stored = one ? fmt::format("u{}", k) : fmt::format("u{}[j]", k);
    text += fmt::format("    {} a{} = {};\n", c_type(kernel.kinds[k]), k,
                        convert_text(kind_of(element), kernel.kinds[k], load_text(element, stored)));
  }
  text += fmt::format("    {} r;\n    {}\n    o[j] = {};\n", c_type(kernel.kind), kernel.body, store_text(out, kernel.kind, "r"));
  if (lanes > 1 && is_padded(out.shape, out.form)) {
    const size_t axis = innermost(out.shape, out.form);
    text += fmt::format("    if (c{} + j >= {}) o[j] = 0;\n", axis, out.shape[axis]);
  }
  text += fmt::format("  }}\n  *({0}*)(out + i * I({1})) = *({0}*)o;\n}}\n",
                      vector_type(byte_size(out.form.element) * static_cast<size_t>(lanes)), lanes);
  return text;
}

}  // namespace

Launch pointwise_kernel(const std::string& stem, const PointwiseKernel& kernel) {
  const Operand& out = kernel.out;
  const int64_t lanes = lanes_of(kernel), all = elements_of(out.shape, out.form), count = all / lanes;
  const bool flat = kernel.beside.empty() && std::all_of(kernel.in.begin(), kernel.in.end(),
                                                         [&](const Operand& in) { return lies_as(in, out) || is_one_number(in); });
  bool small = all < (int64_t{1} << 31);
  for (const auto* operands : {&kernel.in, &kernel.beside})
    for (const Operand& in : *operands) small = small && elements_of(in.shape, in.form) < (int64_t{1} << 31);

  const std::string entry = kernel_name(stem);
  std::string text = fmt::format("typedef {} I;\n{}extern \"C\" __global__ void __launch_bounds__(256) {}(", small ? "int" : "long long",
                                 generated_prelude(), entry);
  for (size_t k = 0; k < kernel.in.size(); ++k) text += fmt::format("const {}* x{}, ", c_type(kernel.in[k].form.element), k);
  for (size_t k = 0; k < kernel.beside.size(); ++k) text += fmt::format("const {}* y{}, ", c_type(kernel.beside[k].form.element), k);
  text += fmt::format("{}* out) {{\n  let_next_begin();\n", c_type(out.form.element));
  text += fmt::format("  const I i = I(blockIdx.x) * 256 + threadIdx.x;\n  wait_for_previous();\n  if (i >= I({})) return;\n", count);
  const bool padded = is_padded(out.shape, out.form);
  if (!flat || padded) text += unravel(out, lanes);
  if (padded && lanes == 1) text += padding_text(out);
  for (size_t k = 0; k < kernel.in.size(); ++k) text += load_lanes(kernel, k, lanes, flat);
  text += lanes_text(kernel, lanes);
  return launch_over(entry, std::move(text), count, kernel.in.size() + kernel.beside.size() + 1);
}

Form pointwise_form(const Lowering&, const std::vector<Operand>& in, const Shape& shape, Element element) {
  for (const Operand& operand : in)
    if (operand.shape == shape && (operand.form.channels_last || is_padded(shape, operand.form)))
      return retyped(operand.form, element, shape);
  return plain_form(element, shape);
}

std::string number_text(float number) {
  if (std::isnan(number)) return "__int_as_float(0x7fc00000)";
  if (std::isinf(number)) return number > 0 ? "__int_as_float(0x7f800000)" : "__int_as_float(0xff800000)";
  return fmt::format("({:a}f)", number);
}

std::string dequantize_text(const Quantization& quantization, const std::string& value) {
  if (quantization.zero_point() == 0) return fmt::format("({} * {})", value, number_text(quantization.scale()));
  return fmt::format("(({} - {}.0f) * {})", value, quantization.zero_point(), number_text(quantization.scale()));
}

std::string quantize_text(const Quantization& quantization, const std::string& value) {
  const bool is_signed = quantization.type == DataType::i8;
  const int low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
  return fmt::format("fminf(fmaxf(rintf({} / {}) + {}.0f, {}.0f), {}.0f)", value, number_text(quantization.scale()),
                     quantization.zero_point(), low, high);
}

// NaN passes fmaxf and fminf as the other operand, where ONNX keeps it; so bounds are comparisons.
std::string activation_text(const Activation& a, const std::string& v) {
  using enum ActivationKind;
  const std::string alpha = number_text(a.alpha), beta = number_text(a.beta);
  switch (a.kind) {
    case relu:
      return fmt::format("({0} < 0.0f ? 0.0f : {0})", v);
    case leaky_relu:
      return fmt::format("({0} < 0.0f ? {1} * {0} : {0})", v, alpha);
    case clip:
      return fmt::format("({0} < {1} ? ({1} > {2} ? {2} : {1}) : {0} > {2} ? {2} : {0})", v, alpha, beta);
    case sigmoid:
      return fmt::format("(1.0f / (1.0f + expf(-{})))", v);
    case tanh:
      return fmt::format("tanhf({})", v);
    case elu:
      return fmt::format("({0} < 0.0f ? {1} * expm1f({0}) : {0})", v, alpha);
    case hard_sigmoid:
      return fmt::format("fminf(fmaxf({1} * {0} + {2}, 0.0f), 1.0f)", v, alpha, beta);
    case hard_swish:
      return fmt::format("({0} * fminf(fmaxf({1} * {0} + {2}, 0.0f), 1.0f))", v, alpha, beta);
    case gelu_erf:
      return fmt::format("(0.5f * {0} * (1.0f + erff({0} * 0.70710678118654752f)))", v);
    case gelu_tanh:
      return fmt::format("(0.5f * {0} * (1.0f + tanhf(0.7978845608028654f * ({0} + 0.044715f * {0} * {0} * {0}))))", v);
    case softplus:
      return fmt::format("({0} > 20.0f ? {0} : log1pf(expf({0})))", v);
  }
  return v;
}

}  // namespace deepgap::gpu
