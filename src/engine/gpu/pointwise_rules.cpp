// The text of ONNX's pointwise operators.
#include "engine/gpu/operators.h"
#include "engine/gpu/pointwise.h"
#include "engine/passes/edit.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace deepgap::gpu {
namespace {

// Numbers, doubles and whole numbers alike.
const std::map<std::string_view, const char*> any_kind{
    {"Add", "r = a0 + a1;"},
    {"Sub", "r = a0 - a1;"},
    {"Mul", "r = a0 * a1;"},
    {"Neg", "r = -a0;"},
    {"Abs", "r = a0 < 0 ? -a0 : a0;"},
    {"Relu", "r = a0 < 0 ? 0 : a0;"},
    {"PRelu", "r = a0 < 0 ? a1 * a0 : a0;"},
    {"Sign", "r = a0 > 0 ? 1 : a0 < 0 ? -1 : 0;"},
};
// Numbers and doubles: the functions of C++ that are overloaded for both.
const std::map<std::string_view, const char*> real_kinds{
    {"Div", "r = a0 / a1;"},
    {"Exp", "r = exp(a0);"},
    {"Log", "r = log(a0);"},
    {"Sqrt", "r = sqrt(a0);"},
    {"Reciprocal", "r = 1 / a0;"},
    {"Floor", "r = floor(a0);"},
    {"Ceil", "r = ceil(a0);"},
    {"Round", "r = rint(a0);"},
    {"Sin", "r = sin(a0);"},
    {"Cos", "r = cos(a0);"},
    {"Tan", "r = tan(a0);"},
    {"Asin", "r = asin(a0);"},
    {"Acos", "r = acos(a0);"},
    {"Atan", "r = atan(a0);"},
    {"Sinh", "r = sinh(a0);"},
    {"Cosh", "r = cosh(a0);"},
    {"Tanh", "r = tanh(a0);"},
    {"Asinh", "r = asinh(a0);"},
    {"Acosh", "r = acosh(a0);"},
    {"Atanh", "r = atanh(a0);"},
    {"Erf", "r = erf(a0);"},
    {"Sigmoid", "r = 1 / (1 + exp(-a0));"},
    {"Softplus", "r = a0 > 20 ? a0 : log1p(exp(a0));"},
    {"Softsign", "r = a0 / (1 + (a0 < 0 ? -a0 : a0));"},
    {"Mish", "r = a0 * tanh(a0 > 20 ? a0 : log1p(exp(a0)));"},
};
const std::map<std::string_view, const char*> whole_kinds{
    {"Div", "r = a1 == 0 ? 0 : a0 / a1;"}, {"BitwiseAnd", "r = a0 & a1;"}, {"BitwiseOr", "r = a0 | a1;"},
    {"BitwiseXor", "r = a0 ^ a1;"},        {"BitwiseNot", "r = ~a0;"},
};
const std::map<std::string_view, const char*> comparisons{{"Equal", "r = a0 == a1;"},
                                                          {"Less", "r = a0 < a1;"},
                                                          {"Greater", "r = a0 > a1;"},
                                                          {"LessOrEqual", "r = a0 <= a1;"},
                                                          {"GreaterOrEqual", "r = a0 >= a1;"}};
const std::map<std::string_view, const char*> logic{
    {"And", "r = a0 && a1;"}, {"Or", "r = a0 || a1;"}, {"Xor", "r = a0 != a1;"}, {"Not", "r = !a0;"}};
// Activations with parameters, which have a text of their own.
constexpr std::array activations{"LeakyRelu", "Elu", "HardSigmoid", "HardSwish", "Gelu"};

PointwiseRule all_of_kind(const Node& node, Kind operands, Kind result, const std::string& body) {
  return {std::vector<Kind>(node.inputs.size(), operands), result, body};
}

std::optional<PointwiseRule> from_table(const std::map<std::string_view, const char*>& table, const Node& node, Kind operands,
                                        Kind result) {
  const auto found = table.find(node.op);
  if (found == table.end()) return std::nullopt;
  return all_of_kind(node, operands, result, found->second);
}

std::string extreme(size_t count, const char* sign) {
  std::string body = "r = a0;";
  for (size_t i = 1; i < count; ++i) body += fmt::format(" if (a{0} {1} r || a{0} != a{0}) r = a{0};", i, sign);
  return body;
}

std::string sum_of(size_t count) {
  std::string body = "r = a0";
  for (size_t i = 1; i < count; ++i) body += fmt::format(" + a{}", i);
  return body + ";";
}

// Bounds by attribute, by input, or left out.
std::optional<PointwiseRule> clip(const Lowering& lowering, const Node& node, Kind kind) {
  if (const auto activation = activation_of(lowering.graph(), node); activation && kind == Kind::number)
    return PointwiseRule{{kind}, kind, "r = " + activation_text(*activation, "a0") + ";"};
  PointwiseRule rule{{kind}, kind, "r = a0;"};
  size_t next = 1;
  for (const char* bound : {"min", "max"}) {  // as before opset 11
    if (!node.attributes.contains(bound)) continue;
    const std::string number = number_text(attribute_float(node, bound, 0));
    rule.body += fmt::format(" if (r {} {}) r = {};", bound[1] == 'i' ? "<" : ">", number, number);
  }
  for (size_t i = 1; i < 3; ++i) {
    if (i >= node.inputs.size() || node.inputs[i] == no_value) continue;
    rule.kinds.push_back(kind);
    rule.body += fmt::format(" if (r {0} a{1}) r = a{1};", i == 1 ? "<" : ">", next++);
  }
  return rule;
}

std::optional<PointwiseRule> mod(const Node& node, Kind kind) {
  const bool c = attribute_int(node, "fmod", 0) != 0;
  if (kind == Kind::integer)
    return all_of_kind(node, kind, kind,
                       c ? "r = a1 == 0 ? 0 : a0 % a1;" : "r = a1 == 0 ? 0 : a0 % a1; if (r != 0 && (r < 0) != (a1 < 0)) r += a1;");
  return all_of_kind(node, kind, kind, c ? "r = fmod(a0, a1);" : "r = fmod(a0, a1); if (r != 0 && (r < 0) != (a1 < 0)) r += a1;");
}

// A float is cut to a whole number; what does not fit is the nearest that does.
std::optional<PointwiseRule> cast(Kind from, Kind to) { return PointwiseRule{{from}, to, "r = " + convert_text(from, to, "a0") + ";"}; }

std::optional<PointwiseRule> parametric(const Node& node, Kind kind) {
  const auto alpha = [&](float fallback) { return number_text(attribute_float(node, "alpha", fallback)); };
  const auto number = [&](const std::string& body) { return all_of_kind(node, kind, kind, body); };
  if (node.op == "LeakyRelu") return number(fmt::format("r = a0 < 0 ? {} * a0 : a0;", alpha(0.01F)));
  if (node.op == "Elu") return number(fmt::format("r = a0 < 0 ? {} * expm1(a0) : a0;", alpha(1.0F)));
  if (node.op == "HardSigmoid")
    return number(
        fmt::format("r = {} * a0 + {}; r = r < 0 ? 0 : r > 1 ? 1 : r;", alpha(0.2F), number_text(attribute_float(node, "beta", 0.5F))));
  if (node.op == "HardSwish") return number("r = a0 / 6 + 0.5f; r = a0 * (r < 0 ? 0 : r > 1 ? 1 : r);");
  if (node.op == "Gelu" && attribute_string(node, "approximate", "none") == "none")
    return number("r = a0 / 2 * (1 + erf(a0 * 0.70710678118654752));");
  if (node.op == "Gelu") return number("r = a0 / 2 * (1 + tanh(0.79788456080286536 * (a0 + 0.044715 * a0 * a0 * a0)));");
  if (node.op == "Selu")
    return number(fmt::format("r = {1} * (a0 > 0.0f ? a0 : {0} * expm1(a0));", alpha(1.67326319217681884765625F),
                              number_text(attribute_float(node, "gamma", 1.05070102214813232421875F))));
  if (node.op == "Swish") return number(fmt::format("r = a0 / (1 + exp(-{} * a0));", alpha(1.0F)));
  if (node.op == "SwiGLU") return number(fmt::format("r = a0 / (1 + exp(-{} * a0)) * a1;", alpha(1.0F)));
  if (node.op == "Celu") return number(fmt::format("r = a0 > 0 ? a0 : {0} * expm1(a0 / {0});", alpha(1.0F)));
  if (node.op == "ThresholdedRelu") return number(fmt::format("r = a0 > {} ? a0 : 0.0f;", alpha(1.0F)));
  if (node.op == "Shrink")
    return number(fmt::format("r = a0 < -{0} ? a0 + {1} : a0 > {0} ? a0 - {1} : 0.0f;", number_text(attribute_float(node, "lambd", 0.5F)),
                              number_text(attribute_float(node, "bias", 0.0F))));
  return std::nullopt;
}

// Returns whether a Dropout may leave numbers out: its third input is not a known "no".
bool may_train(const Lowering& lowering, const Node& node) {
  if (node.inputs.size() < 3 || node.inputs[2] == no_value) return false;
  const Tensor* training = lowering.constant(node.inputs[2]);
  return training == nullptr || training->type != DataType::boolean || *training->data != std::byte{0};
}

// A rule makes the first output alone.
bool wants_other_outputs(const Graph& graph, const Node& node) {
  return std::any_of(node.outputs.begin() + 1, node.outputs.end(), [&](ValueId id) {
    return id != no_value && (is_graph_output(graph, id) || std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& reader) {
                                return std::find(reader.inputs.begin(), reader.inputs.end(), id) != reader.inputs.end();
                              }));
  });
}

std::optional<PointwiseRule> special(const Lowering& lowering, const Node& node, Kind kind, Kind result) {
  const auto& op = node.op;
  if (op == "Min") return all_of_kind(node, kind, kind, extreme(node.inputs.size(), "<"));
  if (op == "Max") return all_of_kind(node, kind, kind, extreme(node.inputs.size(), ">"));
  if (op == "Sum") return all_of_kind(node, kind, kind, sum_of(node.inputs.size()));
  if (op == "Mean") return all_of_kind(node, kind, kind, sum_of(node.inputs.size()) + fmt::format(" r /= {};", node.inputs.size()));
  if (op == "Clip") return clip(lowering, node, kind);
  if (op == "Mod") return mod(node, kind);
  if (op == "Cast" || op == "CastLike") return cast(kind, result);
  if (op == "Identity" || (op == "Dropout" && !may_train(lowering, node))) return all_of_kind(node, kind, kind, "r = a0;");
  if (op == "IsNaN") return all_of_kind(node, kind, Kind::truth, "r = a0 != a0;");
  if (op == "IsInf") {
    const bool negative = attribute_int(node, "detect_negative", 1) != 0, positive = attribute_int(node, "detect_positive", 1) != 0;
    return all_of_kind(node, kind, Kind::truth,
                       fmt::format("r = isinf(a0) && ((a0 < 0 && {}) || (a0 > 0 && {}));", negative ? 1 : 0, positive ? 1 : 0));
  }
  if (op == "BitShift")
    return all_of_kind(node, kind, kind,
                       attribute_string(node, "direction", "LEFT") == "LEFT"
                           ? "r = a1 > 63 ? 0 : a0 << a1;"
                           : "r = a1 > 63 ? 0 : (long long)((unsigned long long)a0 >> a1);");
  if (op == "Pow") {
    if (kind == Kind::integer) return PointwiseRule{{Kind::real, Kind::real}, kind, "r = (long long)pow(a0, a1);"};
    return PointwiseRule{{kind, kind}, kind, "r = pow(a0, a1);"};
  }
  if (op == "Where") {
    const Kind chosen = kind_of(lowering.stored(node.inputs[1]));
    return PointwiseRule{{Kind::truth, chosen, chosen}, chosen, "r = a0 ? a1 : a2;"};
  }
  return std::nullopt;
}

constexpr std::array specials{"Min",     "Max",   "Sum",   "Mean",     "Clip", "Mod",   "Cast", "CastLike", "Identity",
                              "Dropout", "IsNaN", "IsInf", "BitShift", "Pow",  "Where", "Selu", "Celu",     "ThresholdedRelu",
                              "Shrink",  "Swish", "SwiGLU"};

}  // namespace

std::optional<PointwiseRule> pointwise_rule(const Lowering& lowering, const Node& node) {
  if (!node.domain.empty() || node.inputs.empty() || node.inputs[0] == no_value || node.outputs.empty()) return std::nullopt;
  if (wants_other_outputs(lowering.graph(), node)) return std::nullopt;
  const Kind kind = kind_of(lowering.stored(node.inputs[0])), result = kind_of(lowering.stored(node.outputs[0]));
  if (kind == Kind::number || kind == Kind::real) {
    if (const auto activation = activation_of(lowering.graph(), node); activation && node.op != "Clip")
      return PointwiseRule{{kind}, kind, "r = " + activation_text(*activation, "a0") + ";"};
    if (auto rule = parametric(node, kind)) return rule;
  }
  if (node.op == "Shrink" && kind == Kind::integer) return parametric(node, Kind::number);
  if (auto rule = special(lowering, node, kind, result)) return rule;
  if (auto rule = from_table(comparisons, node, kind, Kind::truth)) return rule;
  if (kind == Kind::truth) return from_table(logic, node, kind, kind);
  if (auto rule = from_table(any_kind, node, kind, kind)) return rule;
  return kind == Kind::integer ? from_table(whole_kinds, node, kind, kind) : from_table(real_kinds, node, kind, kind);
}

std::vector<std::string> pointwise_operators() {
  std::vector<std::string> names;
  for (const auto* table : {&any_kind, &real_kinds, &whole_kinds, &comparisons, &logic})
    for (const auto& [name, body] : *table) names.emplace_back(name);
  names.insert(names.end(), activations.begin(), activations.end());
  names.insert(names.end(), specials.begin(), specials.end());
  return names;
}

}  // namespace deepgap::gpu
