#include "engine/cpu/operators.h"
#include "model/graph_tools.h"

#include <numeric>

namespace deepgap {
namespace {

using dnnl::memory;

bool is_f32(const Lowering& lowering, ValueId id) { return lowering.type(id) == DataType::f32; }

// A factor: a constant in the layout that the primitive likes best, anything else as it lies.
struct Factor {
  ValueId id;
  memory::desc lies;   // dims and strides of the product over the dense row-major bytes
  memory::desc asked;  // of the primitive: any layout for a constant
};

Factor factor_of(const Lowering& lowering, ValueId id, const memory::desc& lies) {
  const memory::desc any(lies.get_dims(), memory::data_type::f32, memory::format_tag::any);
  return {id, lies, lowering.constant(id) != nullptr ? any : lies};
}

StepArgument read_factor(Lowering& lowering, int index, const Factor& factor, const memory::desc& chosen) {
  if (lowering.constant(factor.id) != nullptr) return lowering.read_constant(index, factor.id, factor.lies, chosen);
  return lowering.read_viewed(index, factor.id, factor.lies);
}

// The rank of the primitive's result is that of `target`, whose bytes are the operation's output.
void multiply(Lowering& lowering, const Operation& operation, Posts& posts, const Factor& a, const Factor& b, ValueId bias,
              const memory::desc& bias_desc, const memory::desc& target) {
  const dnnl::matmul::primitive_desc description(lowering.engine(), a.asked, b.asked, bias_desc, target, posts.attributes);
  std::vector<StepArgument> arguments{read_factor(lowering, DNNL_ARG_SRC, a, description.src_desc()),
                                      read_factor(lowering, DNNL_ARG_WEIGHTS, b, description.weights_desc())};
  if (bias != no_value) arguments.push_back(lowering.read_viewed(DNNL_ARG_BIAS, bias, bias_desc));
  auto result = write_result(lowering, operation, posts, lowering.plain(operation.output), arguments);
  result.desc = target;
  arguments.push_back(result);
  arguments.insert(arguments.end(), posts.arguments.begin(), posts.arguments.end());
  add_scratchpad(lowering, description, arguments);
  lowering.step(operation, dnnl::matmul(description), std::move(arguments));
}

}  // namespace

bool lower_gemm(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const ValueId c = node.inputs.size() > 2 ? node.inputs[2] : no_value;
  if (!is_f32(lowering, node.inputs[0]) || attribute_float(node, "alpha", 1.0F) != 1.0F) return false;
  if (c != no_value && attribute_float(node, "beta", 1.0F) != 1.0F) return false;
  auto a = lowering.plain(node.inputs[0]), b = lowering.plain(node.inputs[1]);
  if (attribute_int(node, "transA", 0) != 0) a = a.permute_axes({1, 0});
  if (attribute_int(node, "transB", 0) != 0) b = b.permute_axes({1, 0});
  const auto target = lowering.plain(operation.output);
  memory::desc bias;
  if (c != no_value) {
    memory::dims dims = lowering.dims(c);
    if (dims.size() == 1) dims.insert(dims.begin(), 1);
    if (dims.size() != 2 || dims[0] != 1 || dims[1] != target.get_dims()[1]) return false;
    bias = plain_desc(DataType::f32, dims);
  }
  auto posts = posts_of(lowering, operation);
  if (!posts) return false;
  multiply(lowering, operation, *posts, factor_of(lowering, node.inputs[0], a), factor_of(lowering, node.inputs[1], b), c, bias, target);
  return true;
}

bool lower_matmul(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  auto a = lowering.dims(node.inputs[0]), b = lowering.dims(node.inputs[1]), target = lowering.dims(operation.output);
  if (!is_f32(lowering, node.inputs[0]) || a.size() < 2 || b.size() < 2) return false;
  // Rows of all matrices of a times one matrix b are one product; posts along the last axis, or of the whole shape, stay right only
  // when their dims are the result's, so only without operands.
  const bool plain_posts =
      std::all_of(operation.posts.begin(), operation.posts.end(), [](const Post& post) { return post.kind == Post::Kind::activation; });
  if (b.size() == 2 && a.size() > 2 && plain_posts) {
    const int64_t rows = std::accumulate(a.begin(), a.end() - 1, int64_t{1}, std::multiplies<>());
    a = {rows, a.back()};
    target = {rows, target.back()};
  }
  const size_t rank = std::max(a.size(), b.size());
  a.insert(a.begin(), rank - a.size(), 1);
  b.insert(b.begin(), rank - b.size(), 1);
  auto posts = posts_of(lowering, operation);
  if (!posts) return false;
  multiply(lowering, operation, *posts, factor_of(lowering, node.inputs[0], plain_desc(DataType::f32, a)),
           factor_of(lowering, node.inputs[1], plain_desc(DataType::f32, b)), no_value, {}, plain_desc(DataType::f32, target));
  return true;
}

}  // namespace deepgap
