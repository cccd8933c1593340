#include "engine/gpu/generated.h"
#include "base/rounding.h"
#include "engine/gpu/kernel_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace deepgap::gpu {
namespace {}  // namespace

std::string generated_prelude() { return kernel_file("conversions") + kernel_file("launch_order") + kernel_file("larger_halves"); }

Kind kind_of(Element element) {
  switch (element) {
    case Element::f32:
    case Element::f16:
    case Element::bf16:
    case Element::e4m3:
      return Kind::number;
    case Element::f64:
      return Kind::real;
    case Element::boolean:
      return Kind::truth;
    default:
      return Kind::integer;
  }
}

std::string c_type(Element element) {
  switch (element) {
    case Element::f32:
      return "float";
    case Element::f16:
    case Element::bf16:
    case Element::u16:
      return "unsigned short";
    case Element::i8:
      return "signed char";
    case Element::i16:
      return "short";
    case Element::i32:
      return "int";
    case Element::u32:
      return "unsigned int";
    case Element::i64:
      return "long long";
    case Element::u64:
      return "unsigned long long";
    case Element::f64:
      return "double";
    default:
      return "unsigned char";
  }
}

std::string c_type(Kind kind) {
  switch (kind) {
    case Kind::number:
      return "float";
    case Kind::integer:
      return "long long";
    case Kind::real:
      return "double";
    default:
      return "bool";
  }
}

std::string load_text(Element element, const std::string& stored) {
  if (element == Element::f16) return fmt::format("from_f16({})", stored);
  if (element == Element::bf16) return fmt::format("from_bf16({})", stored);
  if (element == Element::e4m3) return fmt::format("from_e4m3({})", stored);
  if (element == Element::boolean) return fmt::format("({} != 0)", stored);
  return fmt::format("({})({})", c_type(kind_of(element)), stored);
}

std::string convert_text(Kind from, Kind to, const std::string& computed) {
  if (from == to) return computed;
  if (to == Kind::truth) return fmt::format("(({}) != 0)", computed);
  return fmt::format("({})({})", c_type(to), computed);
}

std::string store_text(Element element, Kind from, const std::string& computed) {
  const std::string value = convert_text(from, kind_of(element), computed);
  if (element == Element::f16) return fmt::format("to_f16({})", value);
  if (element == Element::bf16) return fmt::format("to_bf16({})", value);
  if (element == Element::e4m3) return fmt::format("to_e4m3({})", value);
  return fmt::format("({})({})", c_type(element), value);
}

std::string store_text(const Operand& out, Kind from, const std::string& computed) {
  const std::string stored = store_text(out.form.element, from, computed);
  return out.rounded ? fmt::format("rounded_to_tf32({})", stored) : stored;
}

std::string kernel_name(const std::string& stem) {
  std::string name = stem;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name + "_kernel";
}

std::vector<std::string> coordinates(size_t rank) {
  std::vector<std::string> names;
  for (size_t axis = 0; axis < rank; ++axis) names.push_back(fmt::format("c{}", axis));
  return names;
}

std::string element_at(const std::vector<Operand>& in, size_t index, const std::vector<std::string>& coordinates) {
  const Operand& operand = in.at(index);
  std::string offset;
  for (size_t axis = 0; axis < operand.shape.size(); ++axis) {
    if (operand.shape[axis] == 1) continue;
    offset += fmt::format("{}({}) * I({})", offset.empty() ? "" : " + ", coordinates.at(axis), operand.strides[axis]);
  }
  return load_text(operand.form.element, fmt::format("x{}[{}]", index, offset.empty() ? "0" : offset));
}

std::string element_here(const std::vector<Operand>& in, size_t index, const Shape& out) {
  const size_t rank = in.at(index).shape.size();
  auto names = coordinates(out.size());
  names.erase(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(out.size() - rank));
  return element_at(in, index, names);
}

Launch launch_over(const std::string& entry, std::string source, int64_t count, size_t buffers, unsigned threads) {
  constexpr int64_t most_blocks = 1 << 30;
  Launch launch;
  launch.entry = entry;
  launch.source = std::move(source);
  launch.block = {threads, 1, 1};
  launch.grid = {static_cast<unsigned>(std::clamp<int64_t>(divide_up(count, threads), 1, most_blocks)), 1, 1};
  launch.overlaps_previous = true;
  for (size_t i = 0; i < buffers; ++i) launch.arguments.emplace_back(BufferArgument{static_cast<int>(i)});
  return launch;
}

namespace {

bool is_small(const Operand& operand) { return elements_of(operand.shape, operand.form) < (int64_t{1} << 31); }

std::string parameters(const ElementKernel& kernel) {
  std::string text;
  for (size_t i = 0; i < kernel.in.size(); ++i) text += fmt::format("const {}* x{}, ", c_type(kernel.in[i].form.element), i);
  return text + fmt::format("{}* out", c_type(kernel.out.form.element));
}

// Coordinates of element `i` of the result's memory, innermost first.
std::string unravel(const Operand& out) {
  const auto order = order_of(out.shape, out.form);
  std::string text = "  I rest = i;\n";
  for (size_t k = order.size(); k-- > 0;) {
    const int64_t size = k + 1 == order.size() ? out.form.pitch : out.shape[order[k]];
    text += k == 0 ? fmt::format("  const I c{} = rest;\n", order[k])
                   : fmt::format("  const I c{} = rest % I({}); rest /= I({});\n", order[k], size, size);
  }
  return text;
}

}  // namespace

Launch element_kernel(const std::string& stem, const ElementKernel& kernel) {
  const Operand& out = kernel.out;
  const int64_t count = elements_of(out.shape, out.form);
  const bool small = is_small(out) && std::all_of(kernel.in.begin(), kernel.in.end(), is_small);
  const std::string entry = kernel_name(stem);
  std::string text = fmt::format("typedef {} I;\n{}", small ? "int" : "long long", generated_prelude());
  text += fmt::format("extern \"C\" __global__ void __launch_bounds__(256) {}({}) {{\n  let_next_begin();\n", entry, parameters(kernel));
  text += fmt::format("  const I i = I(blockIdx.x) * 256 + threadIdx.x;\n  wait_for_previous();\n  if (i >= I({})) return;\n", count);
  text += unravel(out);
  if (is_padded(out.shape, out.form))
    text += fmt::format("  if (c{} >= I({})) {{ out[i] = 0; return; }}\n", innermost(out.shape, out.form),
                        out.shape[innermost(out.shape, out.form)]);
  text += fmt::format("  {} r;\n{}\n  out[i] = {};\n}}\n", c_type(kernel.kind), kernel.body, store_text(out, kernel.kind, "r"));
  return launch_over(entry, std::move(text), count, kernel.in.size() + 1);
}

Launch pixel_kernel(const Operand& in, const Operand& out) {
  const int64_t pixels = elements_of(out.shape, out.form) / out.form.pitch;
  const Element element = out.form.element;
  const std::string entry = kernel_name("pixels");
  std::string text = fmt::format(
      "typedef long long I;\n{}extern \"C\" __global__ void __launch_bounds__(256) {}(const {}* x0, {}* out) "
      "{{\n",
      generated_prelude(), entry, c_type(in.form.element), c_type(element));
  text += fmt::format(
      "  let_next_begin();\n  const I i = I(blockIdx.x) * 256 + threadIdx.x;\n  wait_for_previous();\n  if (i >= I({})) return;\n  I rest "
      "= i;\n",
      pixels);
  for (size_t axis = out.shape.size(); axis-- > 2;)
    text += fmt::format("  const I c{0} = rest % I({1}); rest /= I({1});\n", axis, out.shape[axis]);
  text += fmt::format("  const I c0 = rest;\n  alignas(16) {} o[{}];\n#pragma unroll\n  for (int c1 = 0; c1 < {}; ++c1)\n", c_type(element),
                      out.form.pitch, out.form.pitch);
  text += fmt::format("    if (c1 < {}) o[c1] = {}; else o[c1] = 0;\n", out.shape[1],
                      store_text(out, kind_of(in.form.element), element_here({in}, 0, out.shape)));
  const size_t bytes = static_cast<size_t>(out.form.pitch) * byte_size(element);
  text += fmt::format("  *({0}*)(out + i * {1}) = *({0}*)o;\n}}\n",
                      bytes == 16  ? "uint4"
                      : bytes == 8 ? "uint2"
                                   : "unsigned int",
                      out.form.pitch);
  return launch_over(entry, std::move(text), pixels, 2);
}

}  // namespace deepgap::gpu
