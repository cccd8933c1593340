#include "engine/cpu/operators.h"
#include "model/graph_tools.h"

#include <numeric>

namespace deepgap {
namespace {

using dnnl::memory;

// oneDNN leaves the result as it is where a sum has no terms.
bool can_multiply(const Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  if (element_count(lowering.dims(node.inputs[1])) == 0) return false;
  if (!operation.is_quantized()) return lowering.type(node.inputs[0]) == DataType::f32;
  const bool transposed = node.op == "Gemm" && attribute_int(node, "transB", 0) != 0;
  return is_exact(lowering, operation, transposed ? 0 : lowering.dims(node.inputs[1]).size() - 1);
}

// A factor: a constant in the layout that the primitive likes best, anything else as it lies.
struct Factor {
  ValueId id;
  memory::desc lies;   // dims and strides of the product over the dense row-major bytes
  memory::desc asked;  // what the primitive asks for: any layout for a constant
};

// `type`: of the elements that are multiplied. A constant lies as the Graph has it, anything else was made in that type.
Factor factor_of(const Lowering& lowering, ValueId id, const memory::desc& lies, memory::data_type type) {
  if (lowering.constant(id) == nullptr) return {id, *retyped(lies, type), *retyped(lies, type)};
  return {id, lies, memory::desc(lies.get_dims(), type, memory::format_tag::any)};
}

StepArgument read_factor(Lowering& lowering, int index, const Factor& factor, const memory::desc& chosen) {
  if (lowering.constant(factor.id) != nullptr) return lowering.read_constant(index, factor.id, factor.lies, chosen);
  return lowering.read_viewed(index, factor.id, factor.lies);
}

// The rank of the primitive's result is that of `target`, whose places are the operation's output.
bool multiply(Lowering& lowering, const Operation& operation, const Factor& a, const Factor& b, ValueId bias, const memory::desc& bias_desc,
              const memory::desc& target) {
  auto made = posts_of(lowering, operation, target.get_dims().size());
  if (!made) return false;
  Posts& posts = *made;
  add_scales(lowering, operation, 1 << (target.get_dims().size() - 1), posts);
  const dnnl::matmul::primitive_desc description(lowering.engine(), a.asked, b.asked, bias_desc, target, posts.attributes);
  if (operation.is_quantized() && is_reference(description)) return false;
  std::vector<StepArgument> arguments{read_factor(lowering, DNNL_ARG_SRC, a, description.src_desc()),
                                      read_factor(lowering, DNNL_ARG_WEIGHTS, b, description.weights_desc())};
  if (bias != no_value) arguments.push_back(read_bias(lowering, operation, posts, bias_desc));
  auto result = write_result(lowering, operation, posts, lowering.plain(operation.output, target.get_data_type()), arguments);
  result.desc = target;
  arguments.push_back(result);
  arguments.insert(arguments.end(), posts.arguments.begin(), posts.arguments.end());
  add_scratchpad(lowering, description, arguments);
  lowering.step(operation, dnnl::matmul(description), std::move(arguments));
  return true;
}

}  // namespace

bool lower_gemm(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const ValueId c = node.inputs.size() > 2 ? node.inputs[2] : no_value;
  if (attribute_float(node, "alpha", 1.0F) != 1.0F) return false;
  if (c != no_value && attribute_float(node, "beta", 1.0F) != 1.0F) return false;
  if (attribute_int(node, "transA", 0) == 0 && lower_integer_product(lowering, operation, attribute_int(node, "transB", 0) != 0))
    return true;
  if (!can_multiply(lowering, operation)) return false;
  auto a = lowering.plain(node.inputs[0]), b = lowering.plain(node.inputs[1]);
  if (attribute_int(node, "transA", 0) != 0) a = a.permute_axes({1, 0});
  if (attribute_int(node, "transB", 0) != 0) b = b.permute_axes({1, 0});
  const auto types = types_of(lowering, operation);
  const auto target = lowering.plain(operation.output, types.target);
  memory::desc bias;
  if (c != no_value) {
    memory::dims dims = lowering.dims(c);
    if (dims.size() == 1) dims.insert(dims.begin(), 1);
    if (dims.size() != 2 || dims[0] != 1 || dims[1] != target.get_dims()[1]) return false;
    bias = plain_desc(DataType::f32, dims);
  }
  return multiply(lowering, operation, factor_of(lowering, node.inputs[0], a, types.source),
                  factor_of(lowering, node.inputs[1], b, types.weights), c, bias, target);
}

bool lower_matmul(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  if (lower_integer_product(lowering, operation, false)) return true;
  auto a = lowering.dims(node.inputs[0]), b = lowering.dims(node.inputs[1]), target = lowering.dims(operation.output);
  if (!can_multiply(lowering, operation) || a.size() < 2 || b.size() < 2) return false;
  // Rows of all matrices of a times one matrix b are one product; posts lie along the last axis or have the whole shape.
  if (b.size() == 2 && a.size() > 2) {
    const int64_t rows = std::accumulate(a.begin(), a.end() - 1, int64_t{1}, std::multiplies<>());
    a = {rows, a.back()};
    target = {rows, target.back()};
  }
  const size_t rank = std::max(a.size(), b.size());
  a.insert(a.begin(), rank - a.size(), 1);
  b.insert(b.begin(), rank - b.size(), 1);
  const auto types = types_of(lowering, operation);
  const auto lies = [&](size_t input, const memory::dims& dims) { return plain_desc(lowering.type(node.inputs[input]), dims); };
  return multiply(lowering, operation, factor_of(lowering, node.inputs[0], lies(0, a), types.source),
                  factor_of(lowering, node.inputs[1], lies(1, b), types.weights), no_value, {},
                  *retyped(plain_desc(DataType::f32, target), types.target));
}

}  // namespace deepgap
