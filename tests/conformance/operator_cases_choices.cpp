// Comparing, choosing, rounding, and operators of several inputs or outputs.
#include "operator_cases.h"

#include <utility>

namespace deepgap::conformance {
namespace {

Shape random_sample(Random& random) {
  Shape shape(static_cast<size_t>(random.between(1, 3)));
  for (int64_t& size : shape) size = random.between(1, 12);
  return shape;
}

// Two to four values of the same shape, or one that is broadcast.
Graph several(GraphBuilder& net, const std::string& op) {
  Random& random = net.random();
  const Shape sample = random_sample(random);
  std::vector<ValueId> inputs;
  for (int64_t i = random.between(2, 4); i > 0; --i) inputs.push_back(net.input(sample));
  if (random.chance(0.3)) inputs.push_back(net.floats({sample.back()}));
  return net.finish({net.node(op, inputs)});
}

Graph power(GraphBuilder& net) {
  const ValueId x = net.input(random_sample(net.random()));
  const ValueId positive = net.node("Add", {net.node("Abs", {x}), net.floats({}, 0.5f, 0.5f)});
  const float exponent = net.random().one_of<float>({2.0f, 3.0f, 0.5f, -1.0f, 1.7f});
  return net.finish({net.node("Pow", {positive, net.floats({}, exponent, exponent)})});
}

// Builds the operator on values between -8 and 8, with halves among them.
Graph rounded(GraphBuilder& net, const std::string& op) {
  const ValueId x = net.input(random_sample(net.random()), DataType::i32);
  const ValueId floats = net.node("Cast", {x}, {{"to", int64_t{1}}});
  return net.finish({net.node(op, {net.node("Mul", {floats, net.floats({}, 0.5f, 0.5f)})})});
}

// A choice between two values by a comparison of two.
Graph compared(GraphBuilder& net, const std::string& op) {
  const Shape sample = random_sample(net.random());
  const ValueId a = net.input(sample, DataType::i32), b = net.input(sample, DataType::i32), x = net.input(sample), y = net.input(sample);
  return net.finish({net.node("Where", {net.node(op, {a, b}), x, y})});
}

// As above, of two comparisons.
Graph logical(GraphBuilder& net, const std::string& op) {
  const Shape sample = random_sample(net.random());
  const ValueId a = net.input(sample, DataType::i32), b = net.input(sample, DataType::i32), x = net.input(sample);
  const ValueId less = net.node("Less", {a, b}), equal = net.node("Equal", {a, b});
  const ValueId both = op == "Not" ? net.node("Not", {less}) : net.node(op, {less, equal});
  return net.finish({net.node("Where", {both, x, net.floats({}, 2, 2)})});
}

Graph expanded(GraphBuilder& net) {
  Random& random = net.random();
  const int64_t rows = random.between(1, 9), columns = random.between(1, 9);
  const ValueId x = net.input({1, columns});
  return net.finish({net.node("Expand", {x, net.ints({1, rows, columns})})});
}

// Parts of given lengths along a dimension, joined in another order.
Graph divided(GraphBuilder& net) {
  Random& random = net.random();
  const int64_t first = random.between(1, 5), second = random.between(1, 5);
  const ValueId x = net.input({first + second, random.between(1, 7)});
  const std::vector<ValueId> parts = net.nodes("Split", {x, net.ints({first, second})}, 2, {{"axis", int64_t{1}}});
  return net.finish({net.node("Concat", {parts[1], parts[0]}, {{"axis", int64_t{1}}})});
}

// How exporters write a flattening whose batch is open.
Graph reshaped_by_shape(GraphBuilder& net) {
  const Shape sample = random_sample(net.random());
  const ValueId x = net.input(sample);
  const ValueId batch = net.node("Gather", {net.node("Shape", {x}), net.constant(int_tensor({0}))}, {{"axis", int64_t{0}}});
  const ValueId shape = net.node("Concat", {batch, net.ints({element_count(sample)})}, {{"axis", int64_t{0}}});
  return net.finish({net.node("Reshape", {net.node("Relu", {x}), shape})});
}

OperatorCase exact_case(const std::string& op, Graph (*build)(GraphBuilder&, const std::string&)) {
  return {op, 17, [op, build](GraphBuilder& net) { return build(net, op); }, false};
}

}  // namespace

std::vector<OperatorCase> choosing_cases() {
  std::vector<OperatorCase> cases{
      {"Pow", 17, power, false},
      {"Expand", 17, expanded, false},
      {"Split", 17, divided, false},
      {"Reshape by Shape", 17, reshaped_by_shape, false},
      {"Dropout", 17, [](GraphBuilder& net) { return net.finish({net.node("Dropout", {net.input(random_sample(net.random()))})}); }, false},
  };
  for (const char* op : {"Max", "Min", "Sum"}) cases.push_back(exact_case(op, several));
  for (const char* op : {"Floor", "Ceil", "Round"}) cases.push_back(exact_case(op, rounded));
  for (const char* op : {"Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal"}) cases.push_back(exact_case(op, compared));
  for (const char* op : {"And", "Or", "Not"}) cases.push_back(exact_case(op, logical));
  return cases;
}

}  // namespace deepgap::conformance
