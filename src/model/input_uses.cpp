#include "model/input_uses.h"

#include "model/eval/element_types.h"
#include "model/graph_tools.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

namespace deepgap {
namespace {

constexpr int most_steps = 64;  // from an input to a use, so that a hostile file ends

bool has(const Node& node, size_t index) { return index < node.inputs.size() && node.inputs[index] != no_value; }

// Returns the value with this name outside of a body.
std::optional<ValueId> value_called(const Graph& graph, const std::string& name) {
  for (size_t id = 0; id < graph.values.size(); ++id)
    if (graph.values[id].name == name) return static_cast<ValueId>(id);
  return std::nullopt;
}

// Results hold some of the numbers of that input, unchanged.
bool moves(const Node& node, size_t input) {
  static const std::set<std::string_view> of_first{"Cast",           "CastLike", "Expand",   "Flatten",   "Gather",
                                                   "GatherElements", "GatherND", "Identity", "Reshape",   "Slice",
                                                   "Split",          "Squeeze",  "Tile",     "Transpose", "Unsqueeze"};
  if (!node.domain.empty()) return false;
  return node.op == "Concat" || (input == 0 && of_first.contains(node.op)) || (input > 0 && node.op == "Where");
}

bool computes(const Node& node) {
  static const std::set<std::string_view> arithmetic{
      "Abs",        "Add",         "And", "BitShift",  "BitwiseAnd", "Ceil", "Clip", "Div", "Equal", "Floor", "Greater",   "GreaterOrEqual",
      "Less",       "LessOrEqual", "Max", "Min",       "Mod",        "Mul",  "Neg",  "Not", "Or",    "Pow",   "ReduceMax", "ReduceMin",
      "ReduceProd", "Sqrt",        "Sub", "ReduceSum", "Round"};
  return node.domain.empty() && arithmetic.contains(node.op);
}

class Walk {
 public:
  Walk(bool through_arithmetic, const std::function<void(const InputUse&)>& visit) : arithmetic_(through_arithmetic), visit_(visit) {}

  void from(const Graph& graph, ValueId id, int steps) {
    if (steps == 0 || !seen_.emplace(&graph, id).second) return;
    scopes_.push_back(&graph);
    for (const size_t reader : readers_of(graph)[static_cast<size_t>(id)]) follow(graph, graph.nodes[reader], id, steps);
    into_bodies(graph, id, steps);
    scopes_.pop_back();
  }

 private:
  const std::vector<std::vector<size_t>>& readers_of(const Graph& graph) {
    const auto found = readers_.find(&graph);
    return found != readers_.end() ? found->second : readers_.emplace(&graph, consumers(graph)).first->second;
  }

  void follow(const Graph& graph, const Node& node, ValueId id, int steps) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != id) continue;
      const InputUse use{scopes_, node, i, way_};
      visit_(use);
      if (moves(node, i)) to_outputs(graph, node, steps);
      if (arithmetic_ && computes(node)) {
        way_.push_back({node, i, use.is_whole(), others(use)});
        to_outputs(graph, node, steps);
        way_.pop_back();
      }
      if (node.op != "Loop" || i < 2) continue;
      for (const auto& [name, attribute] : node.attributes)
        if (const auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute); body != nullptr && i < (*body)->inputs.size())
          from(**body, (*body)->inputs[i], steps - 1);
    }
  }

  // from() puts the graph on the scopes again.
  void to_outputs(const Graph& graph, const Node& node, int steps) {
    scopes_.pop_back();
    for (const ValueId output : node.outputs)
      if (output != no_value) from(graph, output, steps - 1);
    scopes_.push_back(&graph);
  }

  // Follows the value into bodies, where it is read by its name.
  void into_bodies(const Graph& graph, ValueId id, int steps) {
    const std::string& name = graph.values[static_cast<size_t>(id)].name;
    for (const Node& node : graph.nodes)
      for (const auto& [key, attribute] : node.attributes) {
        const auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute);
        if (body == nullptr || !captured_names(**body).contains(name)) continue;
        if (const auto inner = value_called(**body, name)) from(**body, *inner, steps - 1);
      }
  }

  // Returns the least and the largest number of the node's other inputs, where all of these are constants.
  static std::optional<NumberRange> others(const InputUse& use) {
    constexpr int64_t most_numbers = 1 << 20;
    std::optional<NumberRange> range;
    for (size_t i = 0; i < use.node.inputs.size(); ++i) {
      if (i == use.input || use.node.inputs[i] == no_value) continue;
      const Tensor* other = use.constant(i);
      if (other == nullptr || other->data == nullptr || element_count(other->shape) > most_numbers) return std::nullopt;
      const Tensor numbers = converted(*other, DataType::f64);
      for (const double number : numbers.as<double>()) {
        if (!std::isfinite(number)) return std::nullopt;
        range = {std::min(range ? range->least : number, number), std::max(range ? range->most : number, number)};
      }
    }
    return range;
  }

  bool arithmetic_;
  const std::function<void(const InputUse&)>& visit_;
  std::vector<const Graph*> scopes_;
  std::vector<ArithmeticStep> way_;
  std::set<std::pair<const Graph*, ValueId>> seen_;
  std::map<const Graph*, std::vector<std::vector<size_t>>> readers_;
};

}  // namespace

const Tensor* InputUse::constant(size_t index) const {
  if (!has(node, index)) return nullptr;
  if (const Tensor* own = constant_of(graph(), node.inputs[index])) return own;
  const std::string& name = graph().values[static_cast<size_t>(node.inputs[index])].name;
  for (size_t i = scopes.size() - 1; i-- > 0;)
    if (const auto id = value_called(*scopes[i], name)) return constant_of(*scopes[i], *id);
  return nullptr;
}

std::optional<Dims> InputUse::dims(size_t index) const {
  if (!has(node, index)) return std::nullopt;
  const Value& own = graph().values[static_cast<size_t>(node.inputs[index])];
  if (const Tensor* tensor = constant(index)) {
    Dims dims;
    for (const int64_t size : tensor->shape) dims.push_back({size, ""});
    return dims;
  }
  if (own.dims) return own.dims;
  for (size_t i = scopes.size() - 1; i-- > 0;)
    if (const auto id = value_called(*scopes[i], own.name)) return scopes[i]->values[static_cast<size_t>(*id)].dims;
  return std::nullopt;
}

std::optional<int64_t> InputUse::size(size_t index, int64_t axis) const {
  const auto all = dims(index);
  if (!all) return std::nullopt;
  const auto rank = static_cast<int64_t>(all->size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return std::nullopt;
  const Dim& dim = (*all)[static_cast<size_t>(axis)];
  return dim.known() || dim.symbol == batch_symbol ? std::optional(dim.size) : std::nullopt;
}

bool InputUse::is_whole() const {
  switch (graph().values[static_cast<size_t>(node.inputs[input])].type) {
    case DataType::f32:
    case DataType::f64:
    case DataType::f16:
    case DataType::bf16:
      return false;
    default:
      return true;
  }
}

std::optional<NumberRange> InputUse::before_way(NumberRange wanted) const {
  for (size_t i = way.size(); i-- > 0;) {
    const std::optional<NumberRange> given = before(way[i], wanted);
    if (!given) return std::nullopt;
    wanted = *given;
  }
  return wanted;
}

void visit_uses(const Graph& graph, ValueId input, bool through_arithmetic, const std::function<void(const InputUse&)>& visit) {
  Walk(through_arithmetic, visit).from(graph, input, most_steps);
}

namespace {

using Range = std::optional<NumberRange>;

NumberRange both(NumberRange a, NumberRange b) { return {std::max(a.least, b.least), std::min(a.most, b.most)}; }
NumberRange negated(NumberRange range) { return {-range.most, -range.least}; }
NumberRange from_zero(NumberRange range) { return {std::max(range.least, 0.0), range.most}; }

Range before_add(const ArithmeticStep& step, NumberRange made) {
  if (!step.others) return NumberRange{made.least / 2, made.most / 2};
  return NumberRange{made.least - step.others->least, made.most - step.others->most};
}

Range before_subtract(const ArithmeticStep& step, NumberRange made) {
  if (!step.others) return std::nullopt;
  if (step.input == 0) return NumberRange{made.least + step.others->most, made.most + step.others->least};
  return NumberRange{step.others->most - made.most, step.others->least - made.least};
}

NumberRange before_factor(double factor, NumberRange made) {
  if (factor == 0) return made.least <= 0 && made.most >= 0 ? NumberRange{} : NumberRange{1, 0};
  const NumberRange range{made.least / factor, made.most / factor};
  return factor > 0 ? range : NumberRange{range.most, range.least};
}

// For one number given, the product lies between those with the least and the largest factor.
Range before_multiply(const ArithmeticStep& step, NumberRange made) {
  if (!step.others) return std::nullopt;
  return both(before_factor(step.others->least, made), before_factor(step.others->most, made));
}

// A quotient of integers is cut towards 0.
NumberRange before_divisor(double divisor, NumberRange made, bool whole) {
  if (divisor < 0) return negated(before_divisor(-divisor, made, whole));
  const double rest = whole ? divisor - 1 : 0;
  return {made.least * divisor - (made.least <= 0 ? rest : 0), made.most * divisor + (made.most >= 0 ? rest : 0)};
}

Range before_divide(const ArithmeticStep& step, NumberRange made) {
  if (!step.others || step.input != 0 || step.others->least * step.others->most <= 0) return std::nullopt;
  return both(before_divisor(step.others->least, made, step.whole), before_divisor(step.others->most, made, step.whole));
}

// Numbers below the divisor stay as they are.
Range before_modulo(const ArithmeticStep& step, NumberRange made) {
  if (!step.others || step.input != 0 || step.others->least <= 0) return std::nullopt;
  return both(from_zero(made), {0, step.others->least - 1});
}

Range before_power(const ArithmeticStep& step, NumberRange made) {
  if (!step.others || step.input != 0 || step.others->least < 1) return std::nullopt;
  const auto root = [&](double number, double power) { return number <= 0 ? number : std::pow(number, 1 / power); };
  return NumberRange{root(std::max(made.least, 0.0), step.others->least), root(made.most, step.others->most)};
}

Range before_shift(const ArithmeticStep& step, NumberRange made) {
  if (!step.others || step.input != 0 || step.others->least < 0 || step.others->most > 62) return std::nullopt;
  const double least = std::exp2(step.others->least), most = std::exp2(step.others->most);
  if (attribute_string(step.node, "direction", "LEFT") == "RIGHT")
    return both(before_divisor(least, from_zero(made), true), before_divisor(most, from_zero(made), true));
  return both(before_factor(least, made), before_factor(most, made));
}

// A number within the range stays as it is, unless a limit beyond the range takes its place.
Range before_least(const ArithmeticStep& step, NumberRange made) {
  return step.others && step.others->least < made.least ? NumberRange{1, 0} : made;
}
Range before_largest(const ArithmeticStep& step, NumberRange made) {
  return step.others && step.others->most > made.most ? NumberRange{1, 0} : made;
}

Range before_negation(const ArithmeticStep& /*step*/, NumberRange made) { return negated(made); }

Range before_root(const ArithmeticStep& /*step*/, NumberRange made) {
  return NumberRange{std::pow(std::max(made.least, 0.0), 2), made.most < 0 ? -1 : made.most * made.most};
}

Range same(const ArithmeticStep& /*step*/, NumberRange made) { return made; }
Range rounded(const ArithmeticStep& /*step*/, NumberRange made) { return NumberRange{std::ceil(made.least), std::floor(made.most)}; }
Range nonnegative(const ArithmeticStep& /*step*/, NumberRange made) { return from_zero(made); }

}  // namespace

std::optional<NumberRange> before(const ArithmeticStep& step, NumberRange made) {
  // BitwiseAnd makes no number from 0 on larger.
  static const std::map<std::string_view, Range (*)(const ArithmeticStep&, NumberRange)> steps{
      {"Add", before_add},    {"Sub", before_subtract}, {"Mul", before_multiply},   {"Div", before_divide},
      {"Mod", before_modulo}, {"Pow", before_power},    {"BitShift", before_shift}, {"BitwiseAnd", nonnegative},
      {"Min", before_least},  {"Max", before_largest},  {"Neg", before_negation},   {"Abs", nonnegative},
      {"Sqrt", before_root},  {"Floor", rounded},       {"Ceil", rounded},          {"Round", rounded},
      {"Clip", same},         {"ReduceMax", same},      {"ReduceMin", same},
  };
  const auto found = steps.find(step.node.op);
  if (found == steps.end() || !step.node.domain.empty()) return std::nullopt;
  if (step.whole) made = {std::ceil(made.least), std::floor(made.most)};
  return found->second(step, made);
}

}  // namespace deepgap
