// Products.
#include "backends/tensorflow/tf_operator.h"

#include <algorithm>
#include <string>

namespace deepgap {
namespace {

// A B, either transposed. A product of no columns with no rows is written out: joined with what is added to it, TensorFlow would leave that
// away.
TfOutput product(const TfCall& call) {
  TfScope& s = call.scope;
  const bool transposes = call.int_of("transA", 0) != 0;
  if (call.shape(0).at(transposes ? 0 : 1) == 0) return s.binary("Fill", s.ints(call.output_shape()), s.number(call.tf_type_of(0), 0));
  return s.make("MatMul")
      .in(call.in(0))
      .in(call.in(1))
      .flag("transpose_a", transposes)
      .flag("transpose_b", call.int_of("transB", 0) != 0)
      .out();
}

// alpha A B + beta C.
void gemm(const TfCall& call) {
  TfScope& s = call.scope;
  const double alpha = call.float_of("alpha", 1), beta = call.float_of("beta", 1);
  TfOutput y = product(call);
  const TfType type = TfScope::type_of(y);
  if (alpha != 1) y = s.binary("Mul", y, s.number(type, alpha));
  if (call.has(2) && beta != 0) {
    const TfOutput c = beta == 1 ? call.in(2) : s.binary("Mul", call.in(2), s.number(type, beta));
    const bool is_bias = call.shape(2).size() == 1 && call.shape(2)[0] == call.output_shape()[1];
    y = s.binary(is_bias ? "BiasAdd" : "AddV2", y, c);
  }
  call.out(0, y);
}

// Vectors are rows or columns that go again.
void matmul(const TfCall& call) {
  TfScope& s = call.scope;
  Shape a = call.shape(0), b = call.shape(1);
  TfOutput x = call.in(0), y = call.in(1);
  if (a.size() == 1) x = s.reshape(x, {1, a[0]});
  if (b.size() == 1) y = s.reshape(y, {b[0], 1});
  const bool plain = std::max(a.size(), b.size()) <= 2;
  const TfOutput z = s.binary(plain ? "MatMul" : "BatchMatMulV2", x, y);
  call.out(0, a.size() == 1 || b.size() == 1 ? s.reshape(z, call.output_shape()) : z);
}

// TensorFlow takes one or two operands, and letters without spaces.
void einsum(const TfCall& call) {
  if (call.node.inputs.size() > 2) call.refuse("more than two operands");
  std::string equation = call.text_of("equation", "");
  std::erase(equation, ' ');
  if (equation.find("->") == std::string::npos) {  // written without a result: letters that occur once, in alphabetical order
    if (equation.find('.') != std::string::npos) call.refuse("an ellipsis and no result");
    std::string result;
    for (const char c : equation)
      if (c != ',' && std::count(equation.begin(), equation.end(), c) == 1) result += c;
    std::sort(result.begin(), result.end());
    equation += "->" + result;
  }
  std::vector<TfOutput> inputs;
  for (size_t i = 0; i < call.node.inputs.size(); ++i) inputs.push_back(call.in(i));
  call.out(0, call.scope.make("Einsum").in(inputs).text("equation", equation).out());
}

const bool registered[] = {
    add_tf_operator("Einsum", einsum),
    add_tf_operator("Gemm", gemm),
    add_tf_operator("MatMul", matmul),
};

}  // namespace
}  // namespace deepgap
