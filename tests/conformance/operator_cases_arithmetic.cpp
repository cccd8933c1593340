#include "operator_cases.h"

#include <utility>

namespace deepgap::conformance {
namespace {

Shape random_sample(Random& random, int64_t least_rank = 1) {
  Shape shape(static_cast<size_t>(random.between(least_rank, 3)));
  for (int64_t& size : shape) size = random.between(1, 17);
  return shape;
}

Graph unary(GraphBuilder& net, const std::string& op, const Attributes& attributes) {
  return net.finish({net.node(op, {net.input(random_sample(net.random()))}, attributes)});
}

// Builds the operator on values above zero.
Graph positive_unary(GraphBuilder& net, const std::string& op) {
  const ValueId x = net.input(random_sample(net.random()));
  return net.finish({net.node(op, {net.node("Add", {net.node("Abs", {x}), net.floats({}, 0.5f, 0.5f)})})});
}

// With a constant that is broadcast, or with another value.
Graph binary(GraphBuilder& net, const std::string& op) {
  Random& random = net.random();
  const Shape sample = random_sample(random, 2);
  const ValueId x = net.input(sample);
  Shape other = sample;
  for (int64_t& size : other) size = random.chance(0.5) ? size : 1;
  if (random.chance(0.4)) return net.finish({net.node(op, {x, net.node("Sigmoid", {net.input(other)})})});
  if (random.chance(0.3)) other.erase(other.begin());
  const ValueId constant = net.floats(other, 0.5f, 2);  // not near zero: it may divide
  const bool swapped = op != "Div" && random.chance(0.3);
  return net.finish({swapped ? net.node(op, {constant, x}) : net.node(op, {x, constant})});
}

Graph clip(GraphBuilder& net) {
  Random& random = net.random();
  const ValueId low = random.chance(0.7) ? net.floats({}, -0.5f, 0) : no_value;
  const ValueId high = random.chance(0.7) ? net.floats({}, 0.1f, 0.5f) : no_value;
  std::vector<ValueId> inputs{net.input(random_sample(random)), low};
  if (high != no_value) inputs.push_back(high);
  if (inputs.size() == 2 && low == no_value) inputs.pop_back();
  return net.finish({net.node("Clip", inputs)});
}

Graph batch_norm(GraphBuilder& net) {
  Random& random = net.random();
  const Shape sample = random_sample(random);
  const int64_t channels = sample[0];
  return net.finish({net.node("BatchNormalization",
                              {net.input(sample), net.floats({channels}, 0.5f, 1.5f), net.floats({channels}), net.floats({channels}),
                               net.floats({channels}, 0.2f, 2)},
                              {{"epsilon", random.one_of<float>({1e-5f, 1e-3f})}})});
}

Graph layer_norm(GraphBuilder& net) {
  const Shape sample = random_sample(net.random(), 2);
  const int64_t last = sample.back();
  return net.finish({net.node("LayerNormalization", {net.input(sample), net.floats({last}, 0.5f, 1.5f), net.floats({last})},
                              {{"axis", int64_t{-1}}, {"epsilon", 1e-4f}})});
}

Graph gemm(GraphBuilder& net) {
  Random& random = net.random();
  const int64_t in = random.between(1, 90), out = random.between(1, 90);
  const bool transposed = random.chance(0.6);
  std::vector<ValueId> inputs{net.input({in}), net.floats(transposed ? Shape{out, in} : Shape{in, out})};
  Attributes attributes{{"transB", int64_t{transposed}}};
  if (random.chance(0.3)) attributes["alpha"] = random.value(0.5f, 2);
  if (random.chance(0.7)) {
    inputs.push_back(net.floats(random.one_of<Shape>({{out}, {1, out}, {1}})));
    if (random.chance(0.3)) attributes["beta"] = random.value(0.5f, 2);
  }
  return net.finish({net.node("Gemm", inputs, attributes)});
}

Graph matmul(GraphBuilder& net) {
  Random& random = net.random();
  const int64_t rows = random.between(1, 20), inner = random.between(1, 40), columns = random.between(1, 40);
  switch (random.between(0, 2)) {
    case 0:
      return net.finish({net.node("MatMul", {net.input({inner}), net.floats({inner, columns})})});
    case 1:
      return net.finish({net.node("MatMul", {net.input({rows, inner}), net.floats({inner, columns})})});
    default: {
      const int64_t heads = random.between(1, 4);
      return net.finish({net.node("MatMul", {net.input({heads, rows, inner}), net.input({heads, inner, columns})})});
    }
  }
}

Graph softmax(GraphBuilder& net, const std::string& op) {
  Random& random = net.random();
  const Shape sample = random_sample(random, 1);
  const int64_t axis = random.chance(0.5) ? -1 : random.between(1, static_cast<int64_t>(sample.size()));
  return net.finish({net.node(op, {net.input(sample)}, {{"axis", axis}})});
}

Graph reduce(GraphBuilder& net, const std::string& op) {
  Random& random = net.random();
  const Shape sample = random_sample(random, 2);
  std::vector<int64_t> axes;
  for (int64_t axis = 1; axis <= static_cast<int64_t>(sample.size()); ++axis) {
    if (random.chance(0.6)) axes.push_back(axis);
  }
  if (axes.empty()) axes.push_back(-1);
  const Attributes attributes{{"keepdims", int64_t{random.chance(0.5)}}};
  // The axes became an input: of ReduceSum with opset 13, of the others with 18.
  if (net.opset() >= 18 || op == "ReduceSum") return net.finish({net.node(op, {net.input(sample), net.ints(axes)}, attributes)});
  Attributes with_axes = attributes;
  with_axes["axes"] = axes;
  return net.finish({net.node(op, {net.input(sample)}, with_axes)});
}

OperatorCase unary_case(const std::string& op, bool required, const Attributes& attributes = {}, int opset = 17) {
  return {op, opset, [op, attributes](GraphBuilder& net) { return unary(net, op, attributes); }, required};
}
OperatorCase positive_case(const std::string& op) {
  return {op, 17, [op](GraphBuilder& net) { return positive_unary(net, op); }, false};
}
OperatorCase binary_case(const std::string& op, bool required) {
  return {op, 17, [op](GraphBuilder& net) { return binary(net, op); }, required};
}
OperatorCase reduce_case(const std::string& op, int opset) {
  return {op + " opset " + std::to_string(opset), opset, [op](GraphBuilder& net) { return reduce(net, op); }, false};
}

}  // namespace

std::vector<OperatorCase> arithmetic_cases() {
  return {
      unary_case("Relu", true),
      {"Clip", 17, clip},
      {"BatchNormalization", 17, batch_norm},
      {"Gemm", 17, gemm},
      binary_case("Add", true),
      binary_case("Mul", false),
      binary_case("Sub", false),
      binary_case("Div", false),
      {"MatMul", 17, matmul, false},
      {"Softmax", 17, [](GraphBuilder& net) { return softmax(net, "Softmax"); }, false},
      {"LogSoftmax", 17, [](GraphBuilder& net) { return softmax(net, "LogSoftmax"); }, false},
      {"LayerNormalization", 17, layer_norm, false},
      reduce_case("ReduceMean", 17),
      reduce_case("ReduceMean", 18),
      reduce_case("ReduceSum", 17),
      reduce_case("ReduceMax", 17),
      reduce_case("ReduceMin", 17),
      reduce_case("ReduceProd", 17),
      unary_case("Sigmoid", false),
      unary_case("Tanh", false),
      unary_case("Erf", false),
      unary_case("Exp", false),
      unary_case("Abs", false),
      unary_case("Neg", false),
      unary_case("Softplus", false),
      unary_case("HardSwish", false),
      unary_case("HardSigmoid", false, {{"alpha", 0.25f}, {"beta", 0.4f}}),
      unary_case("LeakyRelu", false, {{"alpha", 0.1f}}),
      unary_case("Elu", false, {{"alpha", 0.7f}}),
      unary_case("Gelu", false, {}, 20),
      positive_case("Sqrt"),
      positive_case("Log"),
      positive_case("Reciprocal"),
  };
}

}  // namespace deepgap::conformance
