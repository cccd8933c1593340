// Products of two values that are computed: tiles of 64 x 64 in float32, read in whatever form the factors lie.
#include "engine/gpu/generated.h"
#include "engine/gpu/kernel_file.h"
#include "engine/gpu/operators.h"
#include "engine/gpu/pointwise.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap::gpu {

bool lower_weight_product(Lowering& lowering, const Operation& operation);  // lower_convolution.cpp

namespace {

// A factor's matrix: the last two axes, and where matrix `z` of the result finds its own among those before.
struct Factor {
  Operand operand;
  bool turned = false;
  std::optional<Quantization> quantization;
};

std::string base_text(const Factor& factor, const Shape& out) {
  const Shape& shape = factor.operand.shape;
  std::string text;
  for (size_t axis = 0; axis + 2 < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    text += fmt::format(" + z{} * I({})", axis + out.size() - shape.size(), factor.operand.strides[axis]);
  }
  return text;
}

std::string factor_text(const Factor& factor, size_t index, const std::string& name, const Shape& out) {
  const size_t rank = factor.operand.shape.size();
  const int64_t rows = factor.operand.strides[rank - 2], columns = factor.operand.strides[rank - 1];
  const std::string at = fmt::format("x{}[(r) * I({}) + (c) * I({}){}]", index, factor.turned ? columns : rows,
                                     factor.turned ? rows : columns, base_text(factor, out));
  std::string value = convert_text(kind_of(factor.operand.form.element), Kind::number, load_text(factor.operand.form.element, at));
  if (factor.quantization) value = dequantize_text(*factor.quantization, value);
  return fmt::format("#define {}(r, c) ({})\n", name, value);
}

// Coordinates of matrix blockIdx.z.
std::string unravel(const Shape& out) {
  std::string text = "  I rest = blockIdx.z;\n";
  for (size_t axis = out.size() - 2; axis-- > 0;) text += fmt::format("  const I z{0} = rest % I({1}); rest /= I({1});\n", axis, out[axis]);
  return text;
}

struct Product {
  Factor a, b;
  std::optional<Operand> c;
  float alpha = 1, beta = 1;
};

// Returns the text of what is added to a sum at row r and column c.
std::string addend_text(const Product& product, const std::vector<Operand>& in) {
  if (!product.c) return "0.0f";
  std::vector<std::string> places{"(r)", "(c)"};
  places.erase(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(2 - std::min<size_t>(product.c->shape.size(), 2)));
  return fmt::format("{} * {}", number_text(product.beta), element_at(in, 2, places));
}

// Rows and columns of a result, and how many numbers each is the sum of.
struct Sizes {
  int64_t rows = 0, columns = 0, depth = 0;
};

std::string kernel_text(const Product& product, const std::vector<Operand>& in, const Operand& out, const Sizes& sizes,
                        const std::string& entry) {
  std::string text =
      fmt::format("typedef long long I;\n{}extern \"C\" __global__ void __launch_bounds__(256) {}(", generated_prelude(), entry);
  for (size_t i = 0; i < in.size(); ++i) text += fmt::format("const {}* x{}, ", c_type(in[i].form.element), i);
  text += fmt::format("{}* out) {{\n  let_next_begin();\n  wait_for_previous();\n  const I M = {}, N = {}, K = {};\n",
                      c_type(out.form.element), sizes.rows, sizes.columns, sizes.depth);
  text += unravel(out.shape) + factor_text(product.a, 0, "A", out.shape) + factor_text(product.b, 1, "B", out.shape);
  text += fmt::format("#define FACTOR {}\n#define C(r, c) ({})\n", number_text(product.alpha), addend_text(product, in));
  text += fmt::format("#define STORE(r, c) out[(I(blockIdx.z) * M + r) * N + c] = {};\n", store_text(out, Kind::number, "value"));
  return text + kernel_file("matmul") + "}\n";
}

bool multiply(Lowering& lowering, const Operation& operation, const Product& product) {
  const Shape& shape = lowering.shape(operation.output);
  const bool plain = operation.posts.empty() && !operation.result;
  const ValueId target = plain ? operation.output : lowering.add_value(DataType::f32, shape);
  const Operand out = lowering.write(target, plain_form(plain ? lowering.stored(target) : Element::f32, shape));
  std::vector<Operand> in{product.a.operand, product.b.operand};
  if (product.c) in.push_back(*product.c);
  const size_t rank = shape.size();
  const int64_t rows = shape[rank - 2], columns = shape[rank - 1],
                matrices = rows * columns == 0 ? 0 : element_count(shape) / (rows * columns);
  const Shape& first = product.a.operand.shape;
  const int64_t depth = product.a.turned ? first[first.size() - 2] : first.back();
  if (matrices > 65535 || (rows + 63) / 64 > 65535) return false;

  const std::string entry = kernel_name(operation.main.op);
  Launch launch = launch_over(entry, kernel_text(product, in, out, {rows, columns, depth}, entry), 1, in.size() + 1);
  launch.grid = {static_cast<unsigned>((columns + 63) / 64), static_cast<unsigned>((rows + 63) / 64), static_cast<unsigned>(matrices)};
  if (element_count(shape) == 0) launch.grid = {1, 1, 1};
  lowering.count(operation, "fp32");
  lowering.step(operation, std::move(launch), in, {out});
  if (!plain) lower_posts(lowering, operation, target, 0);
  return true;
}

std::optional<Factor> factor_of(Lowering& lowering, const Operation& operation, size_t index, bool turned) {
  const ValueId id = operation.main.inputs[index];
  Factor factor{lowering.native(id), turned, {}};
  if (index < operation.integers.size()) factor.quantization = operation.integers[index];
  if (factor.quantization && !factor.quantization->per_tensor()) return std::nullopt;
  if (kind_of(factor.operand.form.element) != Kind::number && !factor.quantization) return std::nullopt;
  // A vector is a matrix of one row or one column.
  Operand& operand = factor.operand;
  if (operand.shape.size() == 1) {
    const size_t place = index == 0 ? 0 : 1;
    operand.shape.insert(operand.shape.begin() + static_cast<std::ptrdiff_t>(place), 1);
    operand.strides.insert(operand.strides.begin() + static_cast<std::ptrdiff_t>(place), operand.strides[0]);
  }
  return operand.shape.size() < 2 ? std::nullopt : std::optional(factor);
}

}  // namespace

namespace {

bool lower_tiled(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const bool gemm = node.op == "Gemm";
  if (lowering.shape(operation.output).size() < 2) return false;
  if (lowering.shape(node.inputs[0]).size() < 2 || lowering.shape(node.inputs[1]).size() < 2) return false;
  const auto a = factor_of(lowering, operation, 0, gemm && attribute_int(node, "transA", 0) != 0);
  const auto b = factor_of(lowering, operation, 1, gemm && attribute_int(node, "transB", 0) != 0);
  if (!a || !b) return false;
  Product product{*a, *b, std::nullopt, gemm ? attribute_float(node, "alpha", 1.0F) : 1.0F,
                  gemm ? attribute_float(node, "beta", 1.0F) : 1.0F};
  if (gemm && node.inputs.size() > 2 && node.inputs[2] != no_value) product.c = lowering.native(node.inputs[2]);
  if (product.c && kind_of(product.c->form.element) != Kind::number) return false;
  return multiply(lowering, operation, product);
}

}  // namespace

bool lower_product(Lowering& lowering, const Operation& operation) {
  return lower_weight_product(lowering, operation) || lower_tiled(lowering, operation) || lower_plain_matmul(lowering, operation);
}

}  // namespace deepgap::gpu
