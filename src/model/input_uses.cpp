#include "model/input_uses.h"

#include "model/graph_tools.h"

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
      "Abs",       "Add",         "And",        "Ceil", "Clip", "Div",       "Equal", "Floor", "Greater", "GreaterOrEqual",
      "Less",      "LessOrEqual", "Max",        "Min",  "Mod",  "Mul",       "Neg",   "Not",   "Or",      "Pow",
      "ReduceMax", "ReduceMin",   "ReduceProd", "Sqrt", "Sub",  "ReduceSum", "Round"};
  return node.domain.empty() && arithmetic.contains(node.op);
}

class Walk {
 public:
  Walk(bool through_arithmetic, const std::function<void(const InputUse&)>& visit) : arithmetic_(through_arithmetic), visit_(visit) {}

  void from(const Graph& graph, ValueId id, int64_t added, bool computed, int steps) {
    if (steps == 0 || !seen_.emplace(&graph, id).second) return;
    scopes_.push_back(&graph);
    for (const size_t reader : readers_of(graph)[static_cast<size_t>(id)]) follow(graph, graph.nodes[reader], id, added, computed, steps);
    into_bodies(graph, id, added, computed, steps);
    scopes_.pop_back();
  }

 private:
  const std::vector<std::vector<size_t>>& readers_of(const Graph& graph) {
    const auto found = readers_.find(&graph);
    return found != readers_.end() ? found->second : readers_.emplace(&graph, consumers(graph)).first->second;
  }

  void follow(const Graph& graph, const Node& node, ValueId id, int64_t added, bool computed, int steps) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != id) continue;
      const InputUse use{scopes_, node, i, added, computed};
      visit_(use);
      const std::optional<int64_t> more = constant_added(use);
      if (moves(node, i) || more || (arithmetic_ && computes(node))) {
        const bool by_arithmetic = computed || (!more && !moves(node, i));
        leave(graph, [&] {
          for (const ValueId output : node.outputs)
            if (output != no_value) from(graph, output, added + more.value_or(0), by_arithmetic, steps - 1);
        });
      }
      if (node.op != "Loop" || i < 2) continue;
      for (const auto& [name, attribute] : node.attributes)
        if (const auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute); body != nullptr && i < (*body)->inputs.size())
          from(**body, (*body)->inputs[i], added, computed, steps - 1);
    }
  }

  // from() puts the graph on the scopes again.
  template <typename Work>
  void leave(const Graph& graph, Work work) {
    scopes_.pop_back();
    work();
    scopes_.push_back(&graph);
  }

  // Follows the value into bodies, where it is read by its name.
  void into_bodies(const Graph& graph, ValueId id, int64_t added, bool computed, int steps) {
    const std::string& name = graph.values[static_cast<size_t>(id)].name;
    for (const Node& node : graph.nodes)
      for (const auto& [key, attribute] : node.attributes) {
        const auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute);
        if (body == nullptr || !captured_names(**body).contains(name)) continue;
        if (const auto inner = value_called(**body, name)) from(**body, *inner, added, computed, steps - 1);
      }
  }

  // Returns the whole number that an Add adds, as for positions that begin behind others; nullopt for other nodes.
  static std::optional<int64_t> constant_added(const InputUse& use) {
    if (use.node.op != "Add" || !use.node.domain.empty() || use.node.inputs.size() != 2) return std::nullopt;
    const Tensor* other = use.constant(1 - use.input);
    if (other == nullptr || other->data == nullptr || element_count(other->shape) != 1) return std::nullopt;
    if (other->type == DataType::i64) return other->as<int64_t>()[0];
    if (other->type == DataType::i32) return other->as<int32_t>()[0];
    return std::nullopt;
  }

  bool arithmetic_;
  const std::function<void(const InputUse&)>& visit_;
  std::vector<const Graph*> scopes_;
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

void visit_uses(const Graph& graph, ValueId input, bool through_arithmetic, const std::function<void(const InputUse&)>& visit) {
  Walk(through_arithmetic, visit).from(graph, input, 0, false, most_steps);
}

}  // namespace deepgap
