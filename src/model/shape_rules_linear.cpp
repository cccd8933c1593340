// Products of matrices, reductions, normalisations over an axis, quantization.
#include "model/onnx_types.h"
#include "model/packed_weights.h"
#include "model/shape_rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

void check_inner(ShapeContext& context, const Dim& a, const Dim& b) {
  if (a.known() && b.known() && a != b)
    context.fail(fmt::format("shapes {} and {} do not go together", to_string(*context.dims(0)), to_string(*context.dims(1))));
}

void gemm(ShapeContext& context) {
  const auto& a = context.dims(0);
  const auto& b = context.dims(1);
  context.set(0, context.type(0), std::nullopt);
  if (!a || !b) return;
  if (a->size() != 2 || b->size() != 2) context.fail(fmt::format("{} and {} should be matrices", to_string(*a), to_string(*b)));
  const size_t trans_a = context.int_of("transA", 0) != 0 ? 1 : 0;
  const size_t trans_b = context.int_of("transB", 0) != 0 ? 1 : 0;
  check_inner(context, (*a)[1 - trans_a], (*b)[trans_b]);
  const Dims out{(*a)[trans_a], (*b)[1 - trans_b]};
  if (context.has(2) && context.dims(2)) {
    const auto with_bias = context.broadcast(out, context.dims(2), 0);
    if (with_bias && with_bias->size() > 2) context.fail(fmt::format("its bias has shape {}", to_string(*context.dims(2))));
  }
  context.set(0, context.type(0), out);
}

void matmul(ShapeContext& context) {
  context.set(0, context.type(0), std::nullopt);
  if (!context.dims(0) || !context.dims(1)) return;
  Dims a = *context.dims(0), b = *context.dims(1);
  if (a.empty() || b.empty()) context.fail("a scalar is not a matrix");
  const bool vector_a = a.size() == 1, vector_b = b.size() == 1;
  if (vector_a) a.insert(a.begin(), fixed_dim(1));
  if (vector_b) b.push_back(fixed_dim(1));
  check_inner(context, a.back(), b[b.size() - 2]);
  auto out = context.broadcast(Dims(a.begin(), a.end() - 2), Dims(b.begin(), b.end() - 2), 0);
  if (!vector_a) out->push_back(a[a.size() - 2]);
  if (!vector_b) out->push_back(b.back());
  context.set(0, context.type(0), std::move(out));
}

void reduce(ShapeContext& context) {
  const auto& x = context.dims(0);
  context.set(0, context.type(0), std::nullopt);
  if (!x) return;
  const bool keep = context.int_of("keepdims", 1) != 0;
  const auto axes = axes_of(context);
  if (!axes) {
    if (!keep) return;
    Dims open;
    for (size_t i = 0; i < x->size(); ++i) open.push_back(context.unknown(0, i));
    return context.set(0, context.type(0), std::move(open));
  }
  const bool noop = axes->empty() && context.int_of("noop_with_empty_axes", 0) != 0;
  std::vector<bool> reduced(x->size(), axes->empty() && !noop);
  for (const int64_t axis : *axes) reduced[context.axis(axis, x->size())] = true;
  Dims out;
  for (size_t i = 0; i < x->size(); ++i) {
    if (!reduced[i])
      out.push_back((*x)[i]);
    else if (keep)
      out.push_back(fixed_dim(1));
  }
  context.set(0, context.type(0), std::move(out));
  // The product of all sizes: how some exporters flatten.
  const auto content = context.carried(0);
  if (!content || context.node.op != "ReduceProd" || noop) return;
  if (const auto all = product(*content, 0, content->size())) context.carry(0, {*all});
}

void arg_extreme(ShapeContext& context) {
  std::optional<Dims> dims = context.dims(0);
  if (dims) {
    const size_t axis = context.axis_of("axis", 0, dims->size());
    if (context.int_of("keepdims", 1) != 0)
      (*dims)[axis] = fixed_dim(1);
    else
      dims->erase(dims->begin() + static_cast<std::ptrdiff_t>(axis));
  }
  context.set(0, DataType::i64, std::move(dims));
}

void layer_normalization(ShapeContext& context) {
  context.set(0, context.type(0), context.dims(0));
  std::optional<Dims> statistics = context.dims(0);
  if (statistics) {
    const size_t axis = context.axis_of("axis", -1, statistics->size());
    std::fill(statistics->begin() + static_cast<std::ptrdiff_t>(axis), statistics->end(), fixed_dim(1));
  }
  context.set(1, DataType::f32, statistics);
  context.set(2, DataType::f32, statistics);
}

void check_scales(ShapeContext& context) {
  const auto& x = context.dims(0);
  const auto& scale = context.dims(1);
  if (!x || !scale || scale->size() != 1 || is_one((*scale)[0]) || context.int_of("block_size", 0) != 0) return;
  const Dim& channels = (*x)[context.axis_of("axis", 1, x->size())];
  if (channels.known() && (*scale)[0].known() && channels != (*scale)[0])
    context.fail(fmt::format("{} scales for an axis of {}", (*scale)[0].size, channels.size));
}

void quantize_linear(ShapeContext& context) {
  check_scales(context);
  DataType type = DataType::u8;
  if (const int64_t asked = context.int_of("output_dtype", 0); asked != 0) {
    const auto wide = widened_type_of(asked), known = wide ? wide : data_type_of(asked);
    if (!known) context.fail(fmt::format("output_dtype {} is not supported", onnx_type_name(asked)));
    type = *known;
  }
  if (context.has(2)) type = context.type(2);
  context.set(0, type, context.dims(0));
}

void dequantize_linear(ShapeContext& context) {
  check_scales(context);
  const int64_t asked = context.int_of("output_dtype", 0);
  const auto type = asked == 0 ? context.type(1) : data_type_of(asked);
  if (!type) context.fail(fmt::format("output_dtype {} is not supported", onnx_type_name(asked)));
  context.set(0, *type, context.dims(0));
}

void dynamic_quantize_linear(ShapeContext& context) {
  context.set(0, DataType::u8, context.dims(0));
  context.set(1, DataType::f32, Dims{});
  context.set(2, DataType::u8, Dims{});
}

void matmul_integer(ShapeContext& context) {
  matmul(context);
  context.retype(0, DataType::i32);
}

// Infers the result for weights packed in blocks of a few bits, whose sizes are in the attributes.
void matmul_of_few_bits(ShapeContext& context) {
  std::optional<Dims> dims = context.dims(0);
  const int64_t columns = context.int_of("N", 0);
  if (dims && !dims->empty() && columns > 0) dims->back() = fixed_dim(columns);
  context.set(0, context.type(0), std::move(dims));
}

const bool registered = add_shape_rules({{"Gemm", gemm},
                                         {"MatMul", matmul},
                                         {"MatMulInteger", matmul_integer},
                                         {"com.microsoft.MatMulNBits", matmul_of_few_bits},
                                         {"ReduceMean", reduce},
                                         {"ReduceSum", reduce},
                                         {"ReduceMax", reduce},
                                         {"ReduceMin", reduce},
                                         {"ReduceProd", reduce},
                                         {"ReduceL1", reduce},
                                         {"ReduceL2", reduce},
                                         {"ReduceLogSum", reduce},
                                         {"ReduceLogSumExp", reduce},
                                         {"ReduceSumSquare", reduce},
                                         {"ArgMax", arg_extreme},
                                         {"ArgMin", arg_extreme},
                                         {"LayerNormalization", layer_normalization},
                                         {"GroupNormalization", same_as_input},
                                         {"QuantizeLinear", quantize_linear},
                                         {"DequantizeLinear", dequantize_linear},
                                         {"DynamicQuantizeLinear", dynamic_quantize_linear}});

}  // namespace

}  // namespace deepgap
