// Sums of products over any axes, plainly: a thread for each result. Einsum, and products of matrices that lower_product has no tiles for.
#include "engine/gpu/generated.h"
#include "engine/gpu/operators.h"
#include "model/einsum.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap::gpu {

bool lower_einsum(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  std::vector<Operand> in;
  std::vector<Shape> shapes;
  for (ValueId id : node.inputs) {
    in.push_back(lowering.native(id));
    shapes.push_back(in.back().shape);
  }
  const EinsumSizes sizes = einsum_sizes(node, shapes);
  const Kind kind = kind_of(in[0].form.element);
  std::string open, close, product;
  for (size_t index = sizes.equation.output; index < sizes.equation.count; ++index) {
    open += fmt::format("  for (I c{0} = 0; c{0} < I({1}); ++c{0}) {{\n", index, sizes.sizes[index]);
    close += "  }\n";
  }
  for (size_t i = 0; i < in.size(); ++i) {
    std::vector<std::string> places;
    for (size_t index : sizes.equation.inputs[i]) places.push_back(fmt::format("c{}", index));
    product += fmt::format("{}{}", i == 0 ? "" : " * ", convert_text(kind_of(in[i].form.element), kind, element_at(in, i, places)));
  }
  const Operand out = lowering.write(operation.output, plain_form(lowering.stored(operation.output), lowering.shape(operation.output)));
  const std::string body = fmt::format("  r = 0;\n{}  r += {};\n{}", open, product, close);
  lowering.count(operation, "fp32");
  lowering.step(operation, element_kernel(node.op, {out, in, kind, body}), in, {out});
  return true;
}

bool lower_plain_matmul(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  if (node.op != "MatMul" || operation.is_quantized() || !operation.posts.empty()) return false;
  const std::vector<Operand> in{lowering.native(node.inputs[0]), lowering.native(node.inputs[1])};
  const Operand out = lowering.write(operation.output, plain_form(lowering.stored(operation.output), lowering.shape(operation.output)));
  const size_t rank = out.shape.size(), first = in[0].shape.size(), second = in[1].shape.size();
  const bool row = first > 1, column = second > 1;  // a vector is a matrix of one row, or one column, that the result has not
  const size_t matrices = rank - (row ? 1 : 0) - (column ? 1 : 0);
  const auto place = [&](size_t own, const std::string& left, const std::string& right) {
    std::vector<std::string> places;
    for (size_t axis = 0; axis + 2 < own; ++axis) places.push_back(fmt::format("c{}", axis + matrices - (own - 2)));
    if (own > 1) places.push_back(left);
    places.push_back(own > 1 ? right : "k");
    return places;
  };
  const std::string a = element_at(in, 0, place(first, fmt::format("c{}", matrices), "k"));
  const std::string b = element_at(in, 1, place(second, "k", fmt::format("c{}", rank - 1)));
  const std::string body = fmt::format("  r = 0;\n  for (I k = 0; k < I({}); ++k) r += {} * {};", in[0].shape.back(), a, b);
  lowering.count(operation, "fp32");
  lowering.step(operation, element_kernel(node.op, {out, in, kind_of(in[0].form.element), body}), in, {out});
  return true;
}

}  // namespace deepgap::gpu
