#include "engine/gpu/operators.h"
#include "engine/gpu/pointwise.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap::gpu {
namespace {

// The inputs and the text of a kernel over one place; posts and quantization are added to it.
struct Body {
  std::vector<Operand> in;
  std::vector<Kind> kinds;
  std::string text;

  std::string add(const Operand& operand, Kind kind) {
    in.push_back(operand);
    kinds.push_back(kind);
    return fmt::format("a{}", in.size() - 1);
  }
};

std::string operand_text(Lowering& lowering, Body& body, const Post& post) {
  const std::string name = body.add(lowering.native(post.operand), Kind::number);
  return post.quantization ? dequantize_text(*post.quantization, name) : name;
}

bool is_handled(const Post& post) { return !post.quantization || post.quantization->per_tensor(); }

void add_posts(Lowering& lowering, Body& body, const std::vector<Post>& posts, size_t first) {
  for (size_t i = first; i < posts.size(); ++i) {
    const Post& post = posts[i];
    if (post.kind == Post::Kind::activation) {
      body.text += fmt::format(" r = {};", activation_text(post.activation, "r"));
    } else if (post.kind == Post::Kind::round) {
      body.text += fmt::format(" r = {}; r = {};", quantize_text(*post.quantization, "r"), dequantize_text(*post.quantization, "r"));
    } else {
      body.text += fmt::format(" r {}= {};", post.kind == Post::Kind::add ? "+" : "*", operand_text(lowering, body, post));
    }
  }
}

// 16 bits do not hold sums of integers, nor the small scales that are made of others; single numbers cost nothing.
Element element_of_result(const Lowering& lowering, const Operation& operation) {
  const Element stored = lowering.stored(operation.output);
  if (lowering.type(operation.output) != DataType::f32 || stored == Element::f32) return stored;
  const bool whole = operation.main.op == "Cast" && operation.posts.empty() && byte_size(lowering.type(operation.main.inputs[0])) >= 4 &&
                     kind_of(lowering.stored(operation.main.inputs[0])) == Kind::integer;
  return whole || element_count(lowering.shape(operation.output)) == 1 ? Element::f32 : stored;
}

void finish(Lowering& lowering, const Operation& operation, Body& body, Kind kind) {
  if (operation.result) body.text += fmt::format(" r = {};", quantize_text(*operation.result, "r"));
  const Shape& shape = lowering.shape(operation.output);
  const Operand out = lowering.write(operation.output, pointwise_form(lowering, body.in, shape, element_of_result(lowering, operation)));
  lowering.step(operation, pointwise_kernel(operation.main.op, {out, body.in, body.kinds, kind, body.text}), body.in, {out});
}

}  // namespace

void lower_posts(Lowering& lowering, const Operation& operation, ValueId value, size_t first) {
  Body body;
  body.text = fmt::format("r = {};", body.add(lowering.native(value), Kind::number));
  add_posts(lowering, body, operation.posts, first);
  finish(lowering, operation, body, Kind::number);
}

void lower_joined(Lowering& lowering, const Operation& operation, const std::vector<Operand>& parts, size_t axis, const Form& form) {
  const bool plain = operation.posts.empty();
  Body body;
  const Kind kind = plain ? kind_of(parts[0].form.element) : Kind::number;
  body.text = fmt::format("r = {};", body.add(parts[0], kind));
  add_posts(lowering, body, operation.posts, 0);
  const std::vector<Operand> beside(parts.begin() + 1, parts.end());
  const Operand out = lowering.write(operation.output, form);
  std::vector<Operand> read = body.in;
  read.insert(read.end(), beside.begin(), beside.end());
  lowering.step(operation, pointwise_kernel("concat", {out, body.in, body.kinds, kind, body.text, beside, axis}), read, {out});
}

bool lower_pointwise(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  if (operation.result && !operation.result->per_tensor()) return false;
  if (!std::all_of(operation.posts.begin(), operation.posts.end(), is_handled)) return false;
  const auto rule = pointwise_rule(lowering, node);
  const bool quantized = operation.is_quantized();
  if (!quantized && !rule) return false;
  if (quantized && node.op != "Add" && node.op != "Mul" && node.op != "Sub") return false;
  Body body;
  std::string before;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == no_value) continue;
    if (!quantized && body.kinds.size() == rule->kinds.size()) break;  // CastLike's pattern
    const std::string name = body.add(lowering.native(node.inputs[i]), quantized ? Kind::number : rule->kinds[body.kinds.size()]);
    if (!quantized || !operation.integers.at(i)) continue;
    if (!operation.integers[i]->per_tensor()) return false;
    before += fmt::format("{} = {}; ", name, dequantize_text(*operation.integers[i], name));
  }
  const char* sign = node.op == "Add" ? "+" : node.op == "Mul" ? "*" : "-";
  body.text = quantized ? fmt::format("{}r = a0 {} a1;", before, sign) : rule->body;
  add_posts(lowering, body, operation.posts, 0);
  finish(lowering, operation, body, quantized ? Kind::number : rule->kind);
  return true;
}

namespace {

// One number per slice along `axis` of `rank` axes, as an operand.
Operand along_axis(Lowering& lowering, const std::vector<float>& numbers, size_t axis, size_t rank) {
  const auto* bytes = reinterpret_cast<const std::byte*>(numbers.data());
  Shape shape(rank, 1);
  shape[axis] = static_cast<int64_t>(numbers.size());
  const Form form{Element::f32, false, shape.back()};
  return {lowering.constant_bytes({bytes, bytes + numbers.size() * sizeof(float)}), form, shape, strides_of(shape, form)};
}

std::vector<float> as_floats(const std::vector<int32_t>& numbers) { return {numbers.begin(), numbers.end()}; }

// Sets r to the integer for a0, or the number that the integer a0 stands for.
bool quantization_body(Lowering& lowering, const Operation& operation, Body& body, const Quantization& q, bool to_integers) {
  const size_t rank = lowering.shape(operation.output).size();
  if (q.per_tensor()) {
    body.text += fmt::format(" r = {};", to_integers ? quantize_text(q, "a0") : dequantize_text(q, "a0"));
    return true;
  }
  if (q.axis >= rank) return false;
  const std::string scale = body.add(along_axis(lowering, q.scales, q.axis, rank), Kind::number);
  const std::string zero = body.add(along_axis(lowering, as_floats(q.zero_points), q.axis, rank), Kind::number);
  const bool is_signed = q.type == DataType::i8;
  body.text += to_integers ? fmt::format(" r = fminf(fmaxf(rintf(a0 / {}) + {}, {}.0f), {}.0f);", scale, zero, is_signed ? -128 : 0,
                                         is_signed ? 127 : 255)
                           : fmt::format(" r = (a0 - {}) * {};", zero, scale);
  return true;
}

// A computed scale or zero point, one or one for each slice along the axis; nullopt for blocks.
std::optional<Operand> computed_along_axis(Lowering& lowering, const Node& node, size_t input) {
  const ValueId id = node.inputs[input];
  const Shape& own = lowering.shape(id);
  const size_t rank = lowering.shape(node.inputs[0]).size();
  const int64_t axis = attribute_int(node, "axis", 1);
  const auto place = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
  if (element_count(own) != 1 && (own.size() != 1 || place >= rank || own[0] != lowering.shape(node.inputs[0])[place])) return std::nullopt;
  Operand operand = lowering.read(id, plain_form(lowering.native(id).form.element, own));
  operand.shape.assign(rank, 1);
  if (element_count(own) != 1) operand.shape[place] = own[0];
  operand.form = plain_form(operand.form.element, operand.shape);
  operand.strides = strides_of(operand.shape, operand.form);
  return operand;
}

// With a scale that is computed, as after DynamicQuantizeLinear.
bool quantize_by_computed(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const auto scale = computed_along_axis(lowering, node, 1);
  if (!scale || kind_of(scale->form.element) != Kind::number) return false;
  const bool has_zero = node.inputs.size() > 2 && node.inputs[2] != no_value;
  const auto zero = has_zero ? computed_along_axis(lowering, node, 2) : std::nullopt;
  if (has_zero && !zero) return false;
  Body body;
  body.add(lowering.native(node.inputs[0]), Kind::number);
  body.add(*scale, Kind::number);
  const std::string z = zero ? body.add(*zero, Kind::number) : "0.0f";
  const Element element = lowering.stored(operation.output);
  body.text = fmt::format("r = (a0 - {}) * a1;", z);
  if (node.op == "QuantizeLinear") {
    const bool is_signed = element == Element::i8 || element == Element::i16;
    const int64_t levels = int64_t{1} << (8 * byte_size(element));
    body.text = fmt::format("r = fminf(fmaxf(rintf(a0 / a1) + {}, {}.0f), {}.0f);", z, is_signed ? -levels / 2 : 0,
                            is_signed ? levels / 2 - 1 : levels - 1);
  }
  const Operand out = lowering.write(operation.output, pointwise_form(lowering, body.in, lowering.shape(operation.output), element));
  lowering.step(operation, pointwise_kernel(node.op, {out, body.in, body.kinds, Kind::number, body.text}), body.in, {out});
  return true;
}

}  // namespace

bool lower_quantize(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  if (operation.body == nullptr && !quantization_of(lowering.graph(), node)) return quantize_by_computed(lowering, operation);
  const bool to_integers = node.op == "QuantizeLinear";
  const auto q = operation.body != nullptr ? operation.result : quantization_of(lowering.graph(), node);
  if (!q || kind_of(lowering.stored(node.inputs[0])) == Kind::truth) return false;
  Body body;
  body.add(lowering.native(node.inputs[0]), Kind::number);
  if (operation.body != nullptr && operation.integers.at(0)) {
    if (!operation.integers[0]->per_tensor()) return false;
    body.text = fmt::format("a0 = {};", dequantize_text(*operation.integers[0], "a0"));
  }
  if (!quantization_body(lowering, operation, body, *q, to_integers)) return false;
  const Shape& shape = lowering.shape(operation.output);
  const Operand out = lowering.write(operation.output, pointwise_form(lowering, body.in, shape, lowering.stored(operation.output)));
  lowering.step(operation, pointwise_kernel(node.op, {out, body.in, body.kinds, Kind::number, body.text}), body.in, {out});
  return true;
}

}  // namespace deepgap::gpu
