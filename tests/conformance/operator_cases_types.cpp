// Pointwise operators in every element type that the specification gives them at the opset tried. An engine that lacks a type refuses
// the network, and the suite prints its words.
#include "operator_cases.h"

#include "model/eval/element_types.h"
#include "model/onnx_types.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace deepgap::conformance {
namespace {

using Types = std::vector<DataType>;

const Types floats{DataType::f32, DataType::f16, DataType::f64};
const Types signed_integers{DataType::i8, DataType::i16, DataType::i32, DataType::i64};
const Types bytes{DataType::u8};

Types operator+(Types left, const Types& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}
const Types integers = signed_integers + bytes;
const Types numbers = floats + integers;
const Types anything = numbers + Types{DataType::boolean};

Shape random_sample(Random& random) {
  Shape shape(static_cast<size_t>(random.between(1, 3)));
  for (int64_t& size : shape) size = random.chance(0.2) ? 1 : random.between(2, 9);
  return shape;
}

using TypedBuild = std::function<Graph(GraphBuilder&, DataType)>;

void add_cases(std::vector<OperatorCase>& cases, const std::string& op, int opset, const Types& types, const TypedBuild& build) {
  for (const DataType type : types) {
    OperatorCase one{op + " " + std::string(name_of(type)), opset, [=](GraphBuilder& net) { return build(net, type); }, false};
    cases.push_back(std::move(one));
  }
}

TypedBuild unary(const std::string& op, const Attributes& attributes = {}) {
  return [=](GraphBuilder& net, DataType type) {
    return net.finish({net.node(op, {net.input(random_sample(net.random()), type)}, attributes)});
  };
}

// Between -1/2 and 1/2: away from the ends of a domain, where a little more makes much.
TypedBuild unary_in_the_middle(const std::string& op) {
  return [=](GraphBuilder& net, DataType type) {
    const ValueId x = net.input(random_sample(net.random()), type);
    return net.finish({net.node(op, {net.node("Mul", {x, net.number(type, 0.5)})})});
  };
}

TypedBuild unary_of_steps(const std::string& op, const Attributes& attributes = {}) {
  return [=](GraphBuilder& net, DataType type) {
    return net.finish({net.node(op, {net.stepped_input(random_sample(net.random()), type)}, attributes)});
  };
}

// Builds the operator on values of at least `least`.
TypedBuild unary_from(const std::string& op, double least) {
  return [=](GraphBuilder& net, DataType type) {
    const ValueId x = net.input(random_sample(net.random()), type);
    return net.finish({net.node(op, {net.node("Add", {net.node("Abs", {x}), net.number(type, least)})})});
  };
}

bool is_integer(DataType type) { return std::find(integers.begin(), integers.end(), type) != integers.end(); }

// With another value, or with a constant that has no dimensions, fewer, or some of size 1.
ValueId second_operand(GraphBuilder& net, DataType type, const Shape& sample) {
  Random& random = net.random();
  Shape other = sample;
  for (int64_t& size : other) size = random.chance(0.5) ? size : 1;
  switch (random.between(0, 2)) {
    case 0:
      return net.input(other, type);
    case 1:
      if (random.chance(0.5)) other.erase(other.begin());
      return net.constant(random_tensor(random, type, other));
    default:
      return net.constant(random_tensor(random, type, {}));
  }
}

TypedBuild binary(const std::string& op) {
  return [=](GraphBuilder& net, DataType type) {
    const Shape sample = random_sample(net.random());
    const ValueId x = net.input(sample, type), y = second_operand(net, type, sample);
    return net.finish({net.node(op, {x, y})});
  };
}

TypedBuild compared(const std::string& op) {
  return [=](GraphBuilder& net, DataType type) {
    const Shape sample = random_sample(net.random());
    const ValueId x = net.stepped_input(sample, type);
    return net.finish({net.node(op, {x, net.random().chance(0.5) ? net.stepped_input(sample, type) : net.number(type, 1)})});
  };
}

// Draws numbers of both signs, never near zero.
Tensor divisor(Random& random, DataType type, const Shape& shape) {
  Tensor values = make_tensor(DataType::f64, shape);
  for (double& value : writable<double>(values)) {
    value = is_integer(type) ? static_cast<double>(random.between(1, 4)) : static_cast<double>(random.between(2, 8)) / 4;
    if (type != DataType::u8 && random.chance(0.5)) value = -value;
  }
  return converted(values, type);
}

TypedBuild divided(const std::string& op, const Attributes& attributes = {}) {
  return [=](GraphBuilder& net, DataType type) {
    const Shape sample = random_sample(net.random());
    const ValueId x = op == "Mod" ? net.stepped_input(sample, type) : net.input(sample, type);
    return net.finish({net.node(op, {x, net.constant(divisor(net.random(), type, {sample.back()}))}, attributes)});
  };
}

TypedBuild several(const std::string& op) {
  return [=](GraphBuilder& net, DataType type) {
    const Shape sample = random_sample(net.random());
    std::vector<ValueId> inputs{net.input(sample, type)};
    for (int64_t i = net.random().between(0, 3); i > 0; --i) inputs.push_back(second_operand(net, type, sample));
    return net.finish({net.node(op, inputs)});
  };
}

Graph clip(GraphBuilder& net, DataType type) {
  Random& random = net.random();
  const double scale = is_integer(type) ? 3 : 0.5;
  const ValueId low = random.chance(0.7) ? net.number(type, type == DataType::u8 ? 2 : -scale) : no_value;
  std::vector<ValueId> inputs{net.input(random_sample(random), type), low};
  if (random.chance(0.7)) inputs.push_back(net.number(type, type == DataType::u8 ? 6 : scale));
  if (inputs.size() == 2 && low == no_value) inputs.pop_back();
  return net.finish({net.node("Clip", inputs)});
}

Graph where(GraphBuilder& net, DataType type) {
  const Shape sample = random_sample(net.random());
  const ValueId condition = net.input(sample, DataType::boolean), x = net.input(sample, type), y = second_operand(net, type, sample);
  return net.finish({net.node("Where", {condition, x, y})});
}

// Exponents of the base's type or of another.
Graph power(GraphBuilder& net, DataType type) {
  Random& random = net.random();
  const ValueId x = net.input(random_sample(random), type);
  const ValueId positive = net.node("Add", {net.node("Abs", {x}), net.number(type, 1)});
  const DataType other = random.one_of<DataType>({type, DataType::f32, DataType::i64});
  return net.finish({net.node("Pow", {positive, net.number(other, static_cast<double>(random.between(0, 3)))})});
}

Graph slopes(GraphBuilder& net, DataType type) {
  const Shape sample = random_sample(net.random());
  return net.finish({net.node("PRelu", {net.input(sample, type), net.constant(random_tensor(net.random(), type, {sample.back()}))})});
}

// NaN, both infinities and numbers: what small whole numbers and their halves divided by small whole numbers are.
ValueId special_numbers(GraphBuilder& net, DataType type) {
  const Shape sample = random_sample(net.random());
  const Attributes to{{"to", onnx_type_of(type)}};
  const ValueId a = net.node("Cast", {net.input(sample, DataType::i32)}, to), b = net.node("Cast", {net.input(sample, DataType::i32)}, to);
  const ValueId zero_often = net.node("Relu", {b});  // and never -0
  return net.node("Div", {a, zero_often});
}
TypedBuild special(const std::string& op, const Attributes& attributes = {}) {
  return [=](GraphBuilder& net, DataType type) { return net.finish({net.node(op, {special_numbers(net, type)}, attributes)}); };
}

// At the ends of the type's range, where whole numbers wrap around.
template <typename T>
Tensor ends(DataType type) {
  Tensor tensor = make_tensor(type, {5});
  const auto values = writable<T>(tensor);
  values[0] = std::numeric_limits<T>::max(), values[1] = std::numeric_limits<T>::min();
  values[2] = static_cast<T>(values[0] - 1), values[3] = static_cast<T>(values[1] + 1), values[4] = 0;
  return tensor;
}
TypedBuild at_the_ends(const std::string& op) {
  return [=](GraphBuilder& net, DataType type) {
    const Tensor limits = type == DataType::i64 ? ends<int64_t>(type) : ends<int32_t>(type);
    return net.finish({net.node(op, {net.input({2, 5}, type), net.constant(limits)})});
  };
}

Graph shifted(GraphBuilder& net, DataType type) {
  const Shape sample = random_sample(net.random());
  const std::string direction = net.random().chance(0.5) ? "LEFT" : "RIGHT";
  const ValueId bits = net.number(type, static_cast<double>(net.random().between(0, 7)));
  return net.finish({net.node("BitShift", {net.input(sample, type), bits}, {{"direction", direction}})});
}

// Some dimension of size 0.
TypedBuild empty(const std::string& op, size_t inputs) {
  return [=](GraphBuilder& net, DataType type) {
    const Shape sample = net.random().one_of<Shape>({{0, 3}, {3, 0}, {0}});
    std::vector<ValueId> operands{net.input(sample, type)};
    if (inputs > 1) operands.push_back(net.constant(random_tensor(net.random(), type, {1})));
    return net.finish({net.node(op, operands)});
  };
}

// A mean over all dimensions has none.
Graph without_dimensions(GraphBuilder& net, DataType type) {
  const ValueId x = net.input(random_sample(net.random()), type);
  const ValueId mean = net.node("ReduceMean", {x}, {{"keepdims", int64_t{0}}});
  return net.finish({net.node("Add", {x, net.node("Mul", {mean, mean})})});
}

void add_unary_cases(std::vector<OperatorCase>& cases) {
  for (const char* op : {"Abs", "Sign"}) add_cases(cases, op, 13, numbers, unary_of_steps(op));
  add_cases(cases, "Neg", 13, floats + signed_integers, unary("Neg"));
  for (const char* op : {"Floor", "Ceil", "Round"}) add_cases(cases, op, 13, floats, unary_of_steps(op));
  for (const char* op : {"Exp", "Sigmoid", "Tanh", "Erf"}) add_cases(cases, op, 13, floats, unary(op));
  for (const char* op : {"Sqrt", "Log", "Reciprocal"}) add_cases(cases, op, 13, floats, unary_from(op, 0.5));
  for (const char* op : {"Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Asinh"}) add_cases(cases, op, 17, floats, unary(op));
  for (const char* op : {"Asin", "Acos", "Atanh"}) add_cases(cases, op, 17, floats, unary_in_the_middle(op));
  add_cases(cases, "Acosh", 17, floats, unary_from("Acosh", 1.25));
  add_cases(cases, "IsNaN", 13, floats, special("IsNaN"));
  add_cases(cases, "IsInf", 20, floats, special("IsInf"));
  add_cases(cases, "IsInf below", 10, {DataType::f32, DataType::f64}, special("IsInf", {{"detect_positive", int64_t{0}}}));
  add_cases(cases, "IsInf above", 10, {DataType::f32, DataType::f64}, special("IsInf", {{"detect_negative", int64_t{0}}}));
  add_cases(cases, "Not", 13, {DataType::boolean}, unary("Not"));
  add_cases(cases, "BitwiseNot", 18, integers, unary("BitwiseNot"));
}

void add_activation_cases(std::vector<OperatorCase>& cases) {
  add_cases(cases, "Relu", 14, floats + signed_integers, unary("Relu"));
  add_cases(cases, "LeakyRelu", 16, floats, unary("LeakyRelu", {{"alpha", 0.2f}}));
  add_cases(cases, "ThresholdedRelu", 10, floats, unary_of_steps("ThresholdedRelu", {{"alpha", 0.3f}}));
  add_cases(cases, "Elu", 7, floats, unary("Elu", {{"alpha", 0.7f}}));
  add_cases(cases, "Selu", 7, floats, unary("Selu"));
  add_cases(cases, "Celu", 12, {DataType::f32}, unary("Celu", {{"alpha", 0.6f}}));
  add_cases(cases, "HardSigmoid", 7, floats, unary("HardSigmoid", {{"alpha", 0.4f}, {"beta", 0.3f}}));
  add_cases(cases, "HardSwish", 14, floats, unary("HardSwish"));
  add_cases(cases, "Softplus", 7, floats, unary("Softplus"));
  add_cases(cases, "Softsign", 7, floats, unary("Softsign"));
  add_cases(cases, "Mish", 18, floats, unary("Mish"));
  add_cases(cases, "Gelu by Erf", 20, floats, unary("Gelu"));
  add_cases(cases, "Gelu by Tanh", 20, floats, unary("Gelu", {{"approximate", std::string("tanh")}}));
  add_cases(cases, "Shrink", 9, numbers, unary_of_steps("Shrink", {{"lambd", 0.375f}, {"bias", 0.125f}}));
  add_cases(cases, "PRelu", 16, floats + Types{DataType::i32, DataType::i64}, slopes);
  add_cases(cases, "Clip", 13, numbers, clip);
  add_cases(cases, "Clip by attributes", 7, floats, unary("Clip", {{"min", -0.25f}, {"max", 0.5f}}));
}

void add_binary_cases(std::vector<OperatorCase>& cases) {
  for (const char* op : {"Add", "Sub", "Mul"}) {
    add_cases(cases, op, 14, numbers, binary(op));
    add_cases(cases, std::string(op) + " at the ends", 14, {DataType::i32, DataType::i64}, at_the_ends(op));
  }
  add_cases(cases, "Div", 14, numbers, divided("Div"));
  add_cases(cases, "Mod", 13, integers, divided("Mod"));
  add_cases(cases, "Mod as C", 13, numbers, divided("Mod", {{"fmod", int64_t{1}}}));
  add_cases(cases, "Pow", 15, floats + Types{DataType::i32, DataType::i64}, power);
  for (const char* op : {"Max", "Min"}) {
    add_cases(cases, op, 13, numbers, several(op));
    add_cases(cases, std::string(op) + " at the ends", 13, {DataType::i32, DataType::i64}, at_the_ends(op));
  }
  for (const char* op : {"Sum", "Mean"}) add_cases(cases, op, 13, floats, several(op));
  for (const char* op : {"Less", "LessOrEqual", "Greater", "GreaterOrEqual"}) add_cases(cases, op, 16, numbers, compared(op));
  add_cases(cases, "Less at the ends", 16, {DataType::i32, DataType::i64}, at_the_ends("Less"));
  add_cases(cases, "Equal", 13, anything, compared("Equal"));
  for (const char* op : {"And", "Or", "Xor"}) add_cases(cases, op, 7, {DataType::boolean}, binary(op));
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) add_cases(cases, op, 18, integers, binary(op));
  add_cases(cases, "BitShift", 11, bytes, shifted);
  add_cases(cases, "Where", 16, anything, where);
}

}  // namespace

std::vector<OperatorCase> typed_cases() {
  std::vector<OperatorCase> cases;
  add_unary_cases(cases);
  add_activation_cases(cases);
  add_binary_cases(cases);
  for (const char* op : {"Relu", "Sigmoid", "Softmax"})
    add_cases(cases, std::string(op) + " of nothing", 14, {DataType::f32}, empty(op, 1));
  for (const char* op : {"Add", "Max", "Less"})
    add_cases(cases, std::string(op) + " of nothing", 14, {DataType::f32, DataType::i64}, empty(op, 2));
  add_cases(cases, "Add of no dimensions", 14, floats, without_dimensions);
  for (OperatorCase& one : cases) one.mixes_samples = one.op.starts_with("Add of no dimensions");
  return cases;
}

}  // namespace deepgap::conformance
