// Gradients of every operator against central differences, in double on small shapes: what autograd says of the calls that an operator
// becomes is the derivative of what they compute.
#include "backends/libtorch/lone_node.h"
#include "backends/libtorch/torch_operators.h"
#include "backends/libtorch/torch_program.h"
#include "model/graph_tools.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/sum.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace deepgap {
namespace {

using Ints = std::vector<int64_t>;

// Numbers without pattern, none near another, near zero or near one: kinks lie there.
float number(size_t i) { return 0.15F + 0.7F * static_cast<float>(std::fmod(0.618033988749895 * static_cast<double>(i + 1), 1.0)); }

Tensor floats(const Shape& shape, size_t from = 100) {
  Tensor tensor = make_tensor(DataType::f32, shape);
  size_t i = from;
  for (float& value : writable<float>(tensor)) value = number(i++) - 0.4F;
  return tensor;
}
Tensor ones(const Shape& shape) {
  Tensor tensor = make_tensor(DataType::f32, shape);
  std::fill(writable<float>(tensor).begin(), writable<float>(tensor).end(), 1.0F);
  return tensor;
}
Tensor ints(const Ints& values) {
  Tensor tensor = make_tensor(DataType::i64, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), writable<int64_t>(tensor).begin());
  return tensor;
}
Tensor words(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor = make_tensor(DataType::f32, shape);
  std::copy(values.begin(), values.end(), writable<float>(tensor).begin());
  return tensor;
}

// One node of x and constants; `first` is where x stands among its inputs.
struct Case {
  std::string op;
  Shape x = {2, 3};
  std::vector<Tensor> constants = {};
  std::map<std::string, Attribute> attributes = {};
  double scale = 1, shift = 0;  // scale and shift of x
  int opset = 17;
  int outputs = 1;
  size_t first = 0;
};

TorchTarget in_double() {
  TorchTarget target;
  target.floats = at::kDouble;
  target.trains = true;
  return target;
}

// A number of all outputs, in which each element has a weight of its own.
at::Tensor weighed(TorchProgram& program, const at::Tensor& x) {
  at::Tensor total;
  for (const at::Tensor& output : program.run(1, std::span(&x, 1), nullptr)) {
    const at::Tensor weights = at::sin(at::arange(1, output.numel() + 1, at::kDouble)).reshape(output.sizes());
    const at::Tensor part = at::sum(at::mul(output, weights));
    total = total.defined() ? at::add(total, part) : part;
  }
  return total;
}

void expect_gradient(const std::string& what, TorchProgram& program, const at::Tensor& x, const at::Tensor& leaf) {
  constexpr double step = 1e-5;
  ASSERT_TRUE(leaf.grad().defined()) << what << " has no gradient";
  const at::Tensor gradient = leaf.grad().contiguous(), values = leaf.detach();
  const at::NoGradGuard no_gradients;
  for (int64_t i = 0; i < values.numel(); ++i) {
    const at::Tensor element = values.view({-1}).select(0, i);
    const double before = element.item<double>();
    element.fill_(before + step);
    const double above = weighed(program, x).item<double>();
    element.fill_(before - step);
    const double below = weighed(program, x).item<double>();
    element.fill_(before);
    const double expected = (above - below) / (2 * step), actual = gradient.view({-1}).select(0, i).item<double>();
    EXPECT_NEAR(actual, expected, 1e-6 * std::max(1.0, std::abs(expected))) << what << ", element " << i;
  }
}

void expect_gradients(const Case& c) {
  const Graph graph = graph_of({c.op, c.attributes, c.constants, c.opset, c.outputs, c.first}, c.x);
  TorchProgram program(graph, in_double());
  at::Tensor x = at::arange(0, element_count(c.x), at::kDouble);
  for (int64_t i = 0; i < x.numel(); ++i) x.select(0, i).fill_(c.scale * static_cast<double>(number(static_cast<size_t>(i))) + c.shift);
  x = x.reshape(c.x).set_requires_grad(true);
  weighed(program, x).backward();
  expect_gradient(c.op + "'s input", program, x, x);
  for (const TorchWeight& weight : program.weights())
    if (weight.has_gradient) expect_gradient(c.op + "'s " + weight.name, program, x, weight.tensor);
}

Attribute text(const char* word) { return std::string(word); }

const std::vector<Case>& cases() {
  static const Shape picture{2, 4, 5, 5};
  static const std::vector<Case> all{
      {"Abs", {2, 3}, {}, {}, 1, -0.5},
      {"Acos", {2, 3}},
      {"Acosh", {2, 3}, {}, {}, 1, 1},
      {"Asin", {2, 3}},
      {"Asinh", {2, 3}},
      {"Atan", {2, 3}},
      {"Atanh", {2, 3}},
      {"Add", {2, 3}, {floats({3})}},
      {"Add", {2, 3}, {floats({2, 1})}},
      {"AveragePool", picture, {}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}},
      {"AveragePool", picture, {}, {{"kernel_shape", Ints{3, 2}}, {"pads", Ints{1, 0, 0, 1}}}},
      {"BatchNormalization", picture, {floats({4}, 7), floats({4}, 30), floats({4}, 50), ones({4})}},
      {"Celu", {2, 3}, {}, {{"alpha", 0.5F}}, 1, -0.5},
      {"Clip", {2, 3}, {}, {{"min", 0.2F}, {"max", 0.6F}}, 1, 0, 6},
      {"Concat", {2, 3}, {floats({2, 2})}, {{"axis", int64_t{1}}}},
      {"Conv", picture, {floats({6, 4, 3, 3}), floats({6}, 3)}, {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}}},
      {"Conv", picture, {floats({4, 1, 3, 2})}, {{"group", int64_t{4}}, {"pads", Ints{0, 1, 1, 0}}, {"dilations", Ints{1, 2}}}},
      {"Conv", {1, 2, 6}, {floats({3, 2, 3})}, {}},
      {"ConvTranspose", {1, 2, 3, 3}, {floats({2, 3, 2, 2}), floats({3}, 5)}, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 0, 0, 0}}}},
      {"Cos", {2, 3}},
      {"Cosh", {2, 3}},
      {"CumSum", {2, 3}, {ints({1})}},
      {"DepthToSpace", {1, 4, 2, 2}, {}, {{"blocksize", int64_t{2}}}},
      {"SpaceToDepth", {1, 1, 4, 4}, {}, {{"blocksize", int64_t{2}}}},
      {"Div", {2, 3}, {ones({3})}},
      {"Div", {2, 3}, {floats({2, 3})}, {}, 1, 0.5, 17, 1, 1},
      {"Dropout", {2, 3}, {}, {{"ratio", 0.0F}}, 1, 0, 10},
      {"Einsum", {2, 3}, {floats({3, 4})}, {{"equation", text("ij,jk->ik")}}},
      {"Elu", {2, 3}, {}, {{"alpha", 0.7F}}, 1, -0.5},
      {"Erf", {2, 3}},
      {"Exp", {2, 3}},
      {"Expand", {2, 1}, {ints({2, 4})}},
      {"Flatten", {2, 2, 3}},
      {"Gather", {3, 4}, {ints({2, 0, 2})}, {{"axis", int64_t{0}}}},
      {"Gelu", {2, 3}, {}, {}, 2, -1, 20},
      {"Gelu", {2, 3}, {}, {{"approximate", text("tanh")}}, 2, -1, 20},
      {"Gemm", {2, 3}, {floats({4, 3}), floats({4}, 3)}, {{"transB", int64_t{1}}}},
      {"Gemm", {3, 2}, {floats({3, 4}), floats({2, 1}, 3)}, {{"transA", int64_t{1}}, {"alpha", 0.5F}, {"beta", 2.0F}}},
      {"GlobalAveragePool", picture},
      {"GlobalMaxPool", picture},
      {"GlobalLpPool", {1, 2, 3, 3}, {}, {{"p", int64_t{2}}}},
      {"GroupNormalization", picture, {floats({2}), floats({2}, 9)}, {{"num_groups", int64_t{2}}}, 1, 0, 18},
      {"GRU", {3, 2, 4}, {floats({1, 9, 4}), floats({1, 9, 3}, 400)}, {{"hidden_size", int64_t{3}}}, 1, 0, 17, 1},
      {"LSTM", {3, 2, 4}, {floats({1, 12, 4}), floats({1, 12, 3}, 400)}, {{"hidden_size", int64_t{3}}}, 1, 0, 17, 1},
      {"RNN", {3, 2, 4}, {floats({1, 3, 4}), floats({1, 3, 3}, 400)}, {{"hidden_size", int64_t{3}}}, 1, 0, 17, 1},
      {"HardSigmoid", {2, 3}},
      {"HardSwish", {2, 3}, {}, {}, 2, -1},
      {"Identity", {2, 3}},
      {"InstanceNormalization", picture, {floats({4}), floats({4}, 9)}},
      {"LayerNormalization", {2, 3, 5}, {floats({5}), floats({5}, 9)}},
      {"LeakyRelu", {2, 3}, {}, {}, 1, -0.5},
      {"Log", {2, 3}},
      {"LogSoftmax", {2, 5}},
      {"Softmax", {2, 5}},
      {"LpNormalization", {2, 5}},
      {"LpPool", {1, 2, 4, 4}, {}, {{"kernel_shape", Ints{2, 2}}}},
      {"LRN", {1, 4, 3, 3}, {}, {{"size", int64_t{3}}, {"alpha", 0.5F}, {"bias", 1.0F}}},
      {"MatMul", {2, 2, 3}, {floats({3, 4})}},
      {"MatMul", {3, 4}, {floats({2, 2, 3})}, {}, 1, 0, 17, 1, 1},
      {"Max", {2, 3}, {floats({2, 3}, 11)}},
      {"Min", {2, 3}, {floats({2, 3}, 11)}},
      {"Mean", {2, 3}, {floats({2, 3})}},
      {"MaxPool", picture, {}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}},
      {"MaxPool", picture, {}, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{0, 0, 1, 1}}, {"strides", Ints{2, 2}}}},
      {"MeanVarianceNormalization", picture},
      {"Mish", {2, 3}, {}, {}, 2, -1},
      {"Mul", {2, 3}, {floats({3})}},
      {"Neg", {2, 3}},
      {"Pad", {1, 1, 3, 3}, {ints({0, 0, 1, 0, 0, 0, 0, 2})}},
      {"Pow", {2, 3}, {words({1}, {2.5F})}},
      {"PRelu", {2, 3, 2}, {floats({3, 1})}, {}, 1, -0.5},
      {"Reciprocal", {2, 3}},
      {"ReduceL1", {2, 3}, {}, {{"axes", Ints{1}}}},
      {"ReduceL2", {2, 3}, {}, {{"axes", Ints{1}}}},
      {"ReduceLogSum", {2, 3}, {}, {{"axes", Ints{1}}}},
      {"ReduceLogSumExp", {2, 3}, {}, {{"axes", Ints{1}}}},
      {"ReduceMax", {2, 3}, {}, {{"axes", Ints{1}}}},
      {"ReduceMin", {2, 3}, {}, {{"axes", Ints{1}}}},
      {"ReduceMean", {2, 3}, {}, {{"axes", Ints{1}}}},
      {"ReduceProd", {2, 3}, {}, {{"axes", Ints{1}}}},
      {"ReduceSum", {2, 3}, {ints({1})}},
      {"ReduceSumSquare", {2, 3}, {}, {{"axes", Ints{1}}}},
      {"Relu", {2, 3}, {}, {}, 1, -0.5},
      {"Reshape", {2, 3}, {ints({3, 2})}},
      {"Resize", {1, 1, 3, 3}, {Tensor{}, words({4}, {1, 1, 2, 2})}, {{"mode", text("linear")}}},
      {"Resize", {1, 1, 3, 3}, {Tensor{}, words({4}, {1, 1, 2, 2})}, {{"mode", text("nearest")}}},
      {"Upsample", {1, 1, 2, 2}, {words({4}, {1, 1, 2, 2})}, {{"mode", text("nearest")}}, 1, 0, 9},
      {"Selu", {2, 3}, {}, {}, 1, -0.5},
      {"Shrink", {2, 3}, {}, {{"lambd", 0.4F}, {"bias", 0.1F}}},
      {"Sigmoid", {2, 3}},
      {"Sin", {2, 3}},
      {"Sinh", {2, 3}},
      {"Slice", {3, 4}, {ints({1}), ints({4}), ints({1}), ints({2})}},
      {"Softplus", {2, 3}},
      {"Softsign", {2, 3}},
      {"Split", {2, 4}, {ints({1, 3})}, {{"axis", int64_t{1}}}, 1, 0, 17, 2},
      {"Sqrt", {2, 3}},
      {"Squeeze", {2, 1, 3}, {ints({1})}},
      {"Sub", {2, 3}, {floats({3})}},
      {"Sum", {2, 3}, {floats({2, 3})}},
      {"Tan", {2, 3}},
      {"Tanh", {2, 3}},
      {"ThresholdedRelu", {2, 3}, {}, {{"alpha", 0.5F}}},
      {"Tile", {2, 2}, {ints({1, 2})}},
      {"Transpose", {2, 3}},
      {"Trilu", {3, 3}},
      {"Unsqueeze", {2, 3}, {ints({1})}},
  };
  return all;
}

TEST(Gradients, OfEachOperatorAreItsDifferences) {
  at::set_num_threads(1);  // a team for six numbers costs more than it does
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.op);
    try {
      expect_gradients(c);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

// Results that are whole numbers or truths, steps whose derivative is zero everywhere, elements that only move by indices that another
// case covers, and what training refuses.
TEST(Gradients, NoOperatorIsLeftOut) {
  static const std::set<std::string> without{"And",
                                             "ArgMax",
                                             "ArgMin",
                                             "BitShift",
                                             "BitwiseAnd",
                                             "BitwiseNot",
                                             "BitwiseOr",
                                             "BitwiseXor",
                                             "Cast",
                                             "CastLike",
                                             "Ceil",
                                             "ConstantOfShape",
                                             "DequantizeLinear",
                                             "DynamicQuantizeLinear",
                                             "Equal",
                                             "EyeLike",
                                             "Floor",
                                             "GatherElements",
                                             "GatherND",
                                             "Greater",
                                             "GreaterOrEqual",
                                             "GridSample",
                                             "Hardmax",
                                             "IsInf",
                                             "IsNaN",
                                             "Less",
                                             "LessOrEqual",
                                             "MatMulInteger",
                                             "Mod",
                                             "Not",
                                             "OneHot",
                                             "Or",
                                             "QuantizeLinear",
                                             "Range",
                                             "ReverseSequence",
                                             "Round",
                                             "Scatter",
                                             "ScatterElements",
                                             "ScatterND",
                                             "Shape",
                                             "Sign",
                                             "TopK",
                                             "Where",
                                             "Xor"};
  std::set<std::string> with;
  for (const Case& c : cases()) with.insert(c.op);
  for (const std::string& op : torch_operators()) EXPECT_NE(with.contains(op), without.contains(op)) << op;
}

}  // namespace
}  // namespace deepgap
