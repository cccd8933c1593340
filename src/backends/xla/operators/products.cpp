// Products of matrices.
#include "backends/xla/xla_operator.h"

#include <algorithm>
#include <span>

namespace deepgap {
namespace {

using Ints = std::vector<int64_t>;

// A B, batch by batch, where the leading `batches` dimensions are equal; `a_axis` and `b_axis` are summed over.
HloValue product(const XlaCall& call, const HloValue& a, const HloValue& b, int64_t batches, int64_t a_axis, int64_t b_axis) {
  Shape shape(a.shape.begin(), a.shape.begin() + batches);
  Ints leading;
  for (int64_t i = 0; i < batches; ++i) leading.push_back(i);
  for (const auto& [value, axis] : {std::pair{&a, a_axis}, std::pair{&b, b_axis}})
    for (int64_t i = batches; i < static_cast<int64_t>(value->shape.size()); ++i)
      if (i != axis) shape.push_back(value->shape[static_cast<size_t>(i)]);
  return call.hlo.operation("dot_general", {a, b}, a.type, shape,
                            "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = " + hlo_list(leading) +
                                ", rhs_batching_dimensions = " + hlo_list(leading) + ", lhs_contracting_dimensions = " +
                                hlo_list({a_axis}) + ", rhs_contracting_dimensions = " + hlo_list({b_axis}) + ">, " + call.precision());
}

// alpha A B + beta C.
void gemm(const XlaCall& call) {
  HloWriter& h = call.hlo;
  const double alpha = call.float_of("alpha", 1), beta = call.float_of("beta", 1);
  const int64_t a_axis = call.int_of("transA", 0) != 0 ? 0 : 1, b_axis = call.int_of("transB", 0) != 0 ? 1 : 0;
  HloValue y = product(call, call.in(0), call.in(1), 0, a_axis, b_axis);
  if (alpha != 1) y = h.binary("multiply", y, alpha);
  if (call.has(2) && beta != 0) y = h.binary("add", y, beta == 1 ? call.in(2) : h.binary("multiply", call.in(2), beta));
  call.out(0, y);
}

// Vectors are rows or columns that go again; batches are broadcast. A matrix of weights behind many rows is one product.
void matmul(const XlaCall& call) {
  HloWriter& h = call.hlo;
  HloValue a = call.in(0), b = call.in(1);
  if (a.shape.size() == 1) a = h.reshape(a, {1, a.shape[0]});
  if (b.shape.size() == 1) b = h.reshape(b, {b.shape[0], 1});
  if (b.shape.size() == 2) {
    const auto last = static_cast<int64_t>(a.shape.size()) - 1;
    return call.out(0, h.reshape(product(call, a, b, 0, last, 0), call.output_shape()));
  }
  const size_t rank = std::max(a.shape.size(), b.shape.size());
  const auto with_batches = [&](const HloValue& x) {
    Shape shape(rank, 1);
    std::copy(x.shape.begin(), x.shape.end(), shape.end() - static_cast<std::ptrdiff_t>(x.shape.size()));
    for (size_t i = 0; i + 2 < rank; ++i)
      for (const HloValue& one : {a, b})
        if (const size_t lead = rank - one.shape.size(); i >= lead) shape[i] = shape[i] == 1 ? one.shape[i - lead] : shape[i];
    return h.broadcast(x, shape);
  };
  const auto last = static_cast<int64_t>(rank) - 1;
  call.out(0, h.reshape(product(call, with_batches(a), with_batches(b), last - 1, last, last - 1), call.output_shape()));
}

const bool registered[] = {
    add_xla_operator("Gemm", gemm),
    add_xla_operator("MatMul", matmul),
};

}  // namespace
}  // namespace deepgap
