// Softmax and the normalisations: rows at once.
#include "engine/gpu/node_inputs.h"
#include "engine/gpu/operators.h"
#include "engine/gpu/rows.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace deepgap::gpu {
namespace {

constexpr int64_t longest_row = 256 * 64;  // what a block keeps in registers

int64_t elements(const Shape& shape, const std::vector<size_t>& axes) {
  return std::accumulate(axes.begin(), axes.end(), int64_t{1}, [&](int64_t product, size_t axis) { return product * shape[axis]; });
}

std::vector<size_t> axes_from(size_t first, size_t rank) {
  std::vector<size_t> axes(rank - first);
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

constexpr const char* softmax_text = R"(
  float m = __int_as_float(0xff800000);
#pragma unroll
  for (int j = 0; j < E; ++j) if (valid(j)) m = fmaxf(m, v[j]);
  m = block_max(m);
  float s = 0;
#pragma unroll
  for (int j = 0; j < E; ++j) if (valid(j)) s += expf(v[j] - m);
  s = block_sum(s);
#pragma unroll
  for (int j = 0; j < E; ++j) v[j] = RESULT;
)";

// Mean and variance in two passes over the registers.
constexpr const char* normalize_text = R"(
  float mean = 0;
#pragma unroll
  for (int j = 0; j < E; ++j) mean += v[j];
  mean = block_sum(mean) / count;
  float variance = 0;
#pragma unroll
  for (int j = 0; j < E; ++j) if (valid(j)) variance += (v[j] - mean) * (v[j] - mean);
  variance = block_sum(variance) / count;
  const float inverse = 1.0f / sqrtf(variance + EPSILON);
#pragma unroll
  for (int j = 0; j < E; ++j) if (valid(j)) { ROW_PLACE(threadIdx.x + j * T) v[j] = (v[j] - mean) * inverse SCALED; }
)";

bool run(Lowering& lowering, const Operation& operation, const std::vector<Operand>& in, const std::vector<size_t>& reduced,
         const std::string& text) {
  const Shape& shape = lowering.shape(operation.output);
  if (elements(shape, reduced) > longest_row) return false;
  const Operand out = lowering.write(operation.output, row_form(in[0], shape, lowering.stored(operation.output)));
  lowering.step(operation, row_kernel(lowering, operation.main.op, {out, in, reduced, text}), in, {out});
  return true;
}

}  // namespace

bool lower_softmax(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const Operand in = lowering.native(node.inputs[0]);
  if (kind_of(in.form.element) != Kind::number) return false;
  const size_t rank = in.shape.size();
  const bool flattens = lowering.graph().opset < 13;  // one axis until then meant it and all after it
  const auto axis = static_cast<size_t>(NodeInputs(lowering, node).axis(attribute_int(node, "axis", flattens ? 1 : -1), rank));
  const char* result = node.op == "Softmax" ? "expf(v[j] - m) / s" : "v[j] - m - logf(s)";
  const std::vector<size_t> reduced = flattens ? axes_from(axis, rank) : std::vector<size_t>{axis};
  return run(lowering, operation, {in}, reduced, fmt::format("#define RESULT {}\n{}", result, softmax_text));
}

namespace {

bool normalize(Lowering& lowering, const Operation& operation, const std::vector<Operand>& in, const std::vector<size_t>& reduced,
               const std::string& scaled) {
  const std::string epsilon = number_text(attribute_float(operation.main, "epsilon", 1e-5F));
  return run(lowering, operation, in, reduced, fmt::format("#define EPSILON {}\n#define SCALED {}\n{}", epsilon, scaled, normalize_text));
}

}  // namespace

bool lower_normalize(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const bool by_channel = node.op == "InstanceNormalization";
  for (size_t i = 1; i < node.outputs.size(); ++i)
    if (node.outputs[i] != no_value) return false;
  std::vector<Operand> in;
  for (ValueId id : node.inputs) {
    if (id == no_value || kind_of(lowering.native(id).form.element) != Kind::number) return false;
    in.push_back(lowering.native(id));
  }
  const size_t rank = in[0].shape.size();
  const size_t first = by_channel ? 2 : static_cast<size_t>(NodeInputs(lowering, node).axis(attribute_int(node, "axis", -1), rank));
  const auto parameter = [&](size_t i) {
    if (i >= in.size()) return std::string("0.0f");
    return by_channel ? element_at(in, i, {"c1"}) : element_here(in, i, in[0].shape);
  };
  return normalize(lowering, operation, in, axes_from(first, rank), fmt::format("* {} + {}", parameter(1), parameter(2)));
}

}  // namespace deepgap::gpu
