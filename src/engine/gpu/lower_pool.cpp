// Pools over windows: a thread for the channels that 16 bytes hold where they lie innermost, else for one result.
#include "engine/gpu/generated.h"
#include "engine/gpu/operators.h"
#include "engine/gpu/pointwise.h"
#include "engine/gpu/windows.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap::gpu {
namespace {

struct Pool {
  std::vector<WindowAxis> axes;
  bool largest = false, counts_padding = false;
  float norm = 0;  // p of LpPool
  std::optional<Quantization> source, result;
};

std::string taps_open(const Pool& pool) {
  std::string text;
  for (size_t i = 0; i < pool.axes.size(); ++i) {
    const WindowAxis& a = pool.axes[i];
    text += fmt::format(
        "  for (int t{0} = 0; t{0} < {1}; ++t{0}) {{\n  const int p{0} = int(c{2}) * {3} - {4} + t{0} * {5};\n  if (p{0} < 0 || p{0} >= "
        "{6}) continue;\n",
        i, a.kernel, i + 2, a.stride, a.before, a.dilation, a.in);
  }
  return text;
}

// Returns the number of positions that a mean is over: those inside the image, or inside the image with its padding.
std::string divisor(const Pool& pool) {
  std::string text = "1";
  for (size_t i = 0; i < pool.axes.size(); ++i) {
    const WindowAxis& a = pool.axes[i];
    const int64_t low = pool.counts_padding ? -a.before : 0, high = a.in + (pool.counts_padding ? a.after : 0);
    std::string count = "(0";
    for (int64_t t = 0; t < a.kernel; ++t)
      count += fmt::format(" + (int(c{0}) * {1} + ({2}) >= {3} && int(c{0}) * {1} + ({2}) < {4})", i + 2, a.stride,
                           t * a.dilation - a.before, low, high);
    text += " * " + count + ")";
  }
  return text;
}

std::string finish(const Pool& pool, const std::string& r) {
  std::string text;
  if (pool.norm > 0) return fmt::format("{0} = powf({0}, {1}); ", r, number_text(1 / pool.norm));
  if (!pool.largest) text += fmt::format("{} = n > 0 ? {} / n : 0.0f; ", r, r);
  if (pool.result && !pool.largest) text += fmt::format("{} = {}; ", r, quantize_text(*pool.result, r));
  return text;
}

std::string take(const Pool& pool, const std::string& r, const std::string& v) {
  if (pool.norm > 0) return fmt::format("{} += powf(fabsf({}), {});", r, v, number_text(pool.norm));
  const std::string value = pool.source && !pool.largest ? dequantize_text(*pool.source, v) : v;
  return pool.largest ? fmt::format("if ({0} > {1} || {0} != {0}) {1} = {0};", value, r) : fmt::format("{} += {};", r, value);
}

Launch element_pool(const std::string& stem, const Pool& pool, const Operand& in, const Operand& out) {
  auto places = coordinates(in.shape.size());
  for (size_t i = 0; i < pool.axes.size(); ++i) places[i + 2] = fmt::format("p{}", i);
  std::string body = fmt::format("  const float n = float({});\n  r = {};\n{}", pool.largest ? "1" : divisor(pool),
                                 pool.largest ? "-1.0f / 0.0f" : "0", taps_open(pool));
  body += fmt::format("  const float v = {};\n  {}\n", convert_text(kind_of(in.form.element), Kind::number, element_at({in}, 0, places)),
                      take(pool, "r", "v"));
  for (size_t i = 0; i < pool.axes.size(); ++i) body += "  }\n";
  body += "  " + finish(pool, "r");
  return element_kernel(stem, {out, {in}, Kind::number, body});
}

// Channels innermost in both, in groups of `lanes`.
Launch channel_pool(const std::string& stem, const Pool& pool, const Operand& in, const Operand& out) {
  const Element element = in.form.element;
  const int64_t lanes = vector_bytes / static_cast<int64_t>(byte_size(element)), count = elements_of(out.shape, out.form) / lanes;
  const std::string entry = kernel_name(stem), type = c_type(element);
  std::string text =
      fmt::format("typedef {} I;\n{}", std::max(elements_of(in.shape, in.form), count * lanes) < (int64_t{1} << 31) ? "int" : "long long",
                  generated_prelude());
  text += fmt::format("extern \"C\" __global__ void __launch_bounds__(256) {}(const {}* x0, {}* out) {{\n  let_next_begin();\n", entry,
                      type, type);
  text += fmt::format("  const I i = I(blockIdx.x) * 256 + threadIdx.x;\n  wait_for_previous();\n  if (i >= I({})) return;\n", count);
  text += fmt::format("  I rest = i;\n  const I c1 = rest % I({0}) * {1}; rest /= I({0});\n", out.form.pitch / lanes, lanes);
  std::string offset = fmt::format("c0 * I({}) + c1", in.strides[0]);
  for (size_t axis = out.shape.size(); axis-- > 2;)
    text += fmt::format("  const I c{0} = rest % I({1}); rest /= I({1});\n", axis, out.shape[axis]);
  text += "  const I c0 = rest;\n";
  for (size_t i = 0; i < pool.axes.size(); ++i) offset += fmt::format(" + p{} * I({})", i, in.strides[i + 2]);
  text += fmt::format("  const float n = float({});\n  float r[{}];\n#pragma unroll\n  for (int j = 0; j < {}; ++j) r[j] = {};\n",
                      pool.largest ? "1" : divisor(pool), lanes, lanes, pool.largest ? "-1.0f / 0.0f" : "0");
  text += taps_open(pool);
  text += fmt::format(
      "  alignas(16) {} u[{}];\n  *(uint4*)u = *(const uint4*)(x0 + {});\n#pragma unroll\n  for (int j = 0; j < {}; ++j) {{ const float v "
      "= {}; {} }}\n",
      type, lanes, offset, lanes, convert_text(kind_of(element), Kind::number, load_text(element, "u[j]")), take(pool, "r[j]", "v"));
  for (size_t i = 0; i < pool.axes.size(); ++i) text += "  }\n";
  text += fmt::format(
      "  alignas(16) {} o[{}];\n#pragma unroll\n  for (int j = 0; j < {}; ++j) {{ {} o[j] = {}; }}\n  *(uint4*)(out + i * {}) = "
      "*(uint4*)o;\n}}\n",
      type, lanes, lanes, finish(pool, "r[j]"), store_text(out, Kind::number, "r[j]"), lanes);
  return launch_over(entry, std::move(text), count, 2);
}

std::string_view larger_pair(Element element) {
  switch (element) {
    case Element::f16:
      return "larger_f16x2";
    case Element::bf16:
      return "larger_bf16x2";
    case Element::i8:
      return "larger_s16x2";
    default:
      return "larger_u16x2";
  }
}

// Returns whether a window's positions outside the image may be taken as the nearest one inside, which it has anyway.
bool may_clamp(const WindowAxis& a) { return a.dilation == 1 && a.before < a.kernel && (a.out - 1) * a.stride - a.before < a.in; }

bool takes_pairs(const Lowering& lowering, const Pool& pool, Element element) {
  constexpr int64_t most_unrolled = 25;
  int64_t taps = 1;
  for (const WindowAxis& axis : pool.axes) taps *= axis.kernel;
  const bool has_pairs = element == Element::f16 || element == Element::bf16 || element == Element::i8 || element == Element::u8;
  return pool.largest && has_pairs && taps <= most_unrolled && lowering.chip().architecture >= 90 &&
         std::all_of(pool.axes.begin(), pool.axes.end(), may_clamp);
}

// The windows' loops of pair_pool and what is taken in them; `strides`: of the source's spatial axes, in units of 16 bytes.
std::string pair_loops(const Pool& pool, const std::vector<int64_t>& strides, Element element) {
  std::string text, offset = "0", first = "true";
  for (size_t a = 0; a < pool.axes.size(); ++a) {
    const WindowAxis& axis = pool.axes[a];
    text += fmt::format("#pragma unroll\n  for (int t{0} = 0; t{0} < {1}; ++t{0}) {{\n", a, axis.kernel);
    text += fmt::format("  const int s{0} = int(c{1}) * {2} - {3} + t{0}, p{0} = s{0} < 0 ? 0 : s{0} >= {4} ? {5} : s{0};\n", a, a + 2,
                        axis.stride, axis.before, axis.in, axis.in - 1);
    offset += fmt::format(" + p{} * I({})", a, strides[a]);
    first += fmt::format(" && t{} == 0", a);
  }
  text += fmt::format("  const uint4 u = from[{}];\n  const unsigned w[4] = {{u.x, u.y, u.z, u.w}};\n#pragma unroll\n", offset);
  const std::string larger(larger_pair(element));
  const auto taken = [&](const std::string& to, const std::string& word) {
    return fmt::format("    {0} = {1} ? {2} : {3}({0}, {2});\n", to, first, word, larger);
  };
  const bool bytes = byte_size(element) == 1;
  text += "  for (int j = 0; j < 4; ++j) {\n" + taken("odd[j]", "w[j]") + (bytes ? taken("even[j]", "(w[j] << 8)") : "") + "  }\n";
  for (size_t a = 0; a < pool.axes.size(); ++a) text += "  }\n";
  return text;
}

// Like channel_pool, for the largest: all loads at once, and two elements compared at a time. Bytes are compared as the upper halves of 16
// bits: those at odd places as they are, where what lies below them decides only between equal ones, the others moved up.
Launch pair_pool(const std::string& stem, const Pool& pool, const Operand& in, const Operand& out) {
  const Element element = in.form.element;
  const bool bytes = byte_size(element) == 1;
  const int64_t lanes = vector_bytes / static_cast<int64_t>(byte_size(element)), count = elements_of(out.shape, out.form) / lanes;
  const std::string entry = kernel_name(stem);
  const auto at = [&](int64_t stride) { return stride / lanes; };  // in units of 16 bytes
  const bool small = std::max(elements_of(in.shape, in.form), count * lanes) < (int64_t{1} << 31);
  std::string text = fmt::format("typedef {} I;\n{}", small ? "int" : "long long", generated_prelude());
  text +=
      fmt::format("extern \"C\" __global__ void __launch_bounds__(256) {}(const uint4* x0, uint4* out) {{\n  let_next_begin();\n", entry);
  text += fmt::format("  const I i = I(blockIdx.x) * 256 + threadIdx.x;\n  wait_for_previous();\n  if (i >= I({})) return;\n", count);
  text += fmt::format("  I rest = i;\n  const I c1 = rest % I({0}); rest /= I({0});\n", out.form.pitch / lanes);
  for (size_t axis = out.shape.size(); axis-- > 2;)
    text += fmt::format("  const I c{0} = rest % I({1}); rest /= I({1});\n", axis, out.shape[axis]);
  text += fmt::format("  const I c0 = rest;\n  const uint4* from = x0 + c0 * I({}) + c1;\n", at(in.strides[0]));
  text += bytes ? "  unsigned odd[4], even[4];\n" : "  unsigned odd[4];\n";
  std::vector<int64_t> strides;
  for (size_t axis = 2; axis < in.strides.size(); ++axis) strides.push_back(at(in.strides[axis]));
  text += pair_loops(pool, strides, element);
  text += "  unsigned r[4];\n#pragma unroll\n  for (int j = 0; j < 4; ++j) r[j] = ";
  text += bytes ? "(odd[j] & 0xff00ff00u) | ((even[j] >> 8) & 0x00ff00ffu);\n" : "odd[j];\n";
  text += "  uint4 o;\n  o.x = r[0], o.y = r[1], o.z = r[2], o.w = r[3];\n  out[i] = o;\n}\n";
  return launch_over(entry, std::move(text), count, 2);
}

std::optional<MaxPool> as_max_pool(const Pool& pool) {
  const auto is_of_three = [](const WindowAxis& axis) { return axis.kernel == 3 && axis.stride == 2; };
  if (pool.axes.size() != 2 || !std::all_of(pool.axes.begin(), pool.axes.end(), is_of_three)) return std::nullopt;
  return MaxPool{pool.axes[0].before, pool.axes[1].before, pool.axes[0].out, pool.axes[1].out};
}

}  // namespace

bool lower_pool(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const Shape& shape = lowering.shape(operation.output);
  const Operand in = lowering.native(node.inputs[0]);
  if (!operation.posts.empty() || (node.outputs.size() > 1 && node.outputs[1] != no_value) || shape.size() < 3) return false;
  Pool pool;
  pool.largest = node.op == "MaxPool";
  pool.norm = node.op == "LpPool" ? static_cast<float>(attribute_int(node, "p", 2)) : 0;
  pool.counts_padding = attribute_int(node, "count_include_pad", 0) != 0;
  pool.axes = window_axes(node, std::span(in.shape).subspan(2), std::span(shape).subspan(2), attribute_ints(node, "kernel_shape", {}));
  pool.source = operation.integers.empty() ? std::nullopt : operation.integers[0];
  pool.result = operation.result;
  if (pool.source.has_value() != pool.result.has_value() || (pool.source && !(pool.source->per_tensor() && pool.result->per_tensor())))
    return false;
  const Kind kind = kind_of(in.form.element);
  if (kind != Kind::number && !pool.source && byte_size(in.form.element) > 1) return false;  // a float does not hold every whole number
  const Element element = lowering.stored(operation.output);
  const bool together = in.form.channels_last && element == in.form.element;
  const Operand out =
      lowering.write(operation.output, in.form.channels_last ? channels_last_form(element, shape) : plain_form(element, shape));
  Launch launch = !together                              ? element_pool(node.op, pool, in, out)
                  : takes_pairs(lowering, pool, element) ? pair_pool(node.op, pool, in, out)
                                                         : channel_pool(node.op, pool, in, out);
  Step& step = lowering.step(operation, std::move(launch), {in}, {out});
  if (together && takes_pairs(lowering, pool, element)) step.pool = as_max_pool(pool);
  return true;
}

}  // namespace deepgap::gpu
