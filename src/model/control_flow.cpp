#include "model/control_flow.h"

#include "model/eval/fold_constants.h"
#include "model/graph_tools.h"
#include "model/growing_graph.h"
#include "model/known_contents.h"
#include "model/node_body.h"
#include "model/tensor_contents.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace deepgap {
namespace {

constexpr size_t most_nodes = 1'000'000;  // the most nodes of one unrolled Loop

bool is_control_flow(const Node& node) { return node.domain.empty() && (node.op == "If" || node.op == "Loop" || node.op == "Scan"); }

// One flag or number that is known.
template <typename T>
std::optional<T> known(const Graph& graph, ValueId id, DataType type) {
  const Tensor* tensor = constant_of(graph, id);
  if (tensor == nullptr || tensor->type != type || element_count(tensor->shape) != 1) return std::nullopt;
  return contents<T>(*tensor)[0];
}

Tensor scalar(int64_t value) {
  Tensor tensor = make_tensor(DataType::i64, {});
  writable<int64_t>(tensor)[0] = value;
  return tensor;
}
Tensor flag(bool value) {
  Tensor tensor = make_tensor(DataType::boolean, {});
  writable<uint8_t>(tensor)[0] = value;
  return tensor;
}

class Inliner : private GrowingGraph {
 public:
  using GrowingGraph::GrowingGraph;

  void inline_all() {
    fold();
    // Nothing that comes later decides what came before.
    for (size_t undecided = 0;;) {
      const auto at = position_of(undecided);
      if (!at) return;
      const Node node = graph_.nodes[*at];  // by value: the nodes move
      if (node.op == "If" ? take_branch(*at, node) : node.op == "Loop" ? unroll(*at, node) : unroll_scan(*at, node))
        fold();
      else
        ++undecided;
    }
  }

  Graph take() { return std::move(graph_); }

 private:
  // Returns the position of the If, Loop or Scan that comes after `before` others.
  std::optional<size_t> position_of(size_t before) const {
    for (size_t i = 0; i < graph_.nodes.size(); ++i)
      if (is_control_flow(graph_.nodes[i]) && before-- == 0) return i;
    return std::nullopt;
  }

  // From here on everything that constants and known sizes decide is a constant.
  void fold() {
    work(graph_.nodes.size() + graph_.values.size());
    auto contents = known_contents(graph_);
    std::erase_if(graph_.nodes, [&](const Node& node) {
      return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) { return id == no_value || contents.contains(id); });
    });
    for (const Node& node : graph_.nodes)
      for (const ValueId id : node.outputs) contents.erase(id);  // the node stays for its other outputs
    graph_.constants.merge(contents);
    fold_constants(graph_, true);
    infer_shapes(graph_);
  }

  bool take_branch(size_t at, const Node& node) {
    const Graph &then = body_of(node, "then_branch"), &otherwise = body_of(node, "else_branch");
    if (!then.inputs.empty() || !otherwise.inputs.empty()) fail_node(node, "its branches have inputs, which nothing gives");
    if (then.outputs.size() < node.outputs.size() || otherwise.outputs.size() != then.outputs.size())
      fail_node(node, fmt::format("it has {} outputs, its branches {} and {}", node.outputs.size(), then.outputs.size(),
                                  otherwise.outputs.size()));
    for (size_t i = 0; i < node.outputs.size(); ++i) require_same_type(node, then, otherwise, i);
    if (node.inputs.size() != 1) fail_node(node, fmt::format("it has {} inputs instead of one condition", node.inputs.size()));
    const auto condition = known<uint8_t>(graph_, node.inputs[0], DataType::boolean);
    if (!condition) return false;
    std::vector<Node> others = set_aside();
    put_back(others, 0, at);
    name_outputs(append(*condition != 0 ? then : otherwise, {}, node.name + "/", node), node);
    put_back(others, at + 1, others.size());
    return true;
  }

  // Compares the outputs whose type the file states, which are those with a shape.
  static void require_same_type(const Node& node, const Graph& then, const Graph& otherwise, size_t i) {
    const Value &a = then.values[static_cast<size_t>(then.outputs[i])], &b = otherwise.values[static_cast<size_t>(otherwise.outputs[i])];
    if (a.dims && b.dims && a.type != b.type)
      fail_node(node, fmt::format("its branches differ: output {} is {} in one and {} in the other", i, name_of(a.type), name_of(b.type)));
  }

  // The number of iterations: how many there are, and may be.
  struct Bounds {
    int64_t most = INT64_MAX;
    bool begins = true;
  };
  // nullopt: not known.
  std::optional<Bounds> bounds_of(const Node& node) const {
    Bounds bounds;
    const auto given = [&](size_t i) { return i < node.inputs.size() && node.inputs[i] != no_value; };
    if (given(0)) {
      const auto most = known<int64_t>(graph_, node.inputs[0], DataType::i64);
      if (!most) return std::nullopt;
      bounds.most = std::max<int64_t>(0, *most);
    }
    if (given(1)) {
      const auto condition = known<uint8_t>(graph_, node.inputs[1], DataType::boolean);
      if (!condition) return std::nullopt;
      bounds.begins = *condition != 0;
    }
    return bounds;
  }

  // The state of a Loop that is unrolled so far.
  struct Unrolled {
    std::vector<Node> nodes;
    std::vector<ValueId> state;                 // the carried values
    std::vector<std::vector<ValueId>> scanned;  // what each iteration gave
    std::vector<int64_t> axes;                  // along which it is stacked; empty: the first
  };

  bool unroll(size_t at, const Node& node) {
    const Graph& body = body_of(node, "body");
    const size_t carried = node.inputs.size() < 2 ? 0 : node.inputs.size() - 2;
    if (body.inputs.size() != carried + 2 || body.outputs.size() < carried + 1 || body.outputs.size() < node.outputs.size() + 1)
      fail_node(node, fmt::format("it carries {} values and has {} outputs, its body has {} inputs and {} outputs", carried,
                                  node.outputs.size(), body.inputs.size(), body.outputs.size()));
    const auto bounds = bounds_of(node);
    const bool is_while = bounds && bounds->most > INT32_MAX;  // as exporters write it
    if (!bounds || (bounds->most > most_iterations && !is_while)) return false;
    const size_t values_before = graph_.values.size();
    std::vector<Node> others = set_aside();
    Unrolled loop{{}, {node.inputs.end() - static_cast<std::ptrdiff_t>(carried), node.inputs.end()}, {}};
    loop.scanned.resize(body.outputs.size() - 1 - carried);
    const bool whole = iterate(node, body, *bounds, loop) && stack_scanned(node, body, loop);
    whole ? replace(at, node, others, loop) : undo(values_before, others);
    return whole;
  }

  // Node `at` of `others` by its iterations' nodes, behind which stand those that stack what they gave.
  void replace(size_t at, const Node& node, std::vector<Node>& others, Unrolled& loop) {
    name_outputs(loop.state, node);
    std::vector<Node> last = set_aside();
    put_back(others, 0, at);
    put_back(loop.nodes, 0, loop.nodes.size());
    put_back(last, 0, last.size());
    put_back(others, at + 1, others.size());
  }

  void undo(size_t values_before, std::vector<Node>& others) {
    forget_values_from(values_before);
    graph_.nodes = std::move(others);
  }

  // Takes an iteration's results: its carried values from `first` on, then what is stacked. The graph has no nodes afterwards.
  void take_iteration(const Node& node, const std::vector<ValueId>& results, size_t first, Unrolled& loop) {
    std::copy_n(results.begin() + static_cast<std::ptrdiff_t>(first), loop.state.size(), loop.state.begin());
    for (size_t k = 0; k < loop.scanned.size(); ++k) loop.scanned[k].push_back(results[first + loop.state.size() + k]);
    std::vector<Node> made = set_aside();
    std::move(made.begin(), made.end(), std::back_inserter(loop.nodes));
    if (loop.nodes.size() > most_nodes) fail_node(node, fmt::format("its iterations have more than {} nodes", most_nodes));
  }

  // A Scan's inputs that are walked along an axis, forwards or backwards.
  struct Walked {
    ValueId id;
    int64_t axis;
    bool backwards;
  };

  static std::vector<int64_t> list_of(const Node& node, const char* attribute, size_t count) {
    auto values = attribute_ints(node, attribute, std::vector<int64_t>(count, 0));
    if (values.size() != count) fail_node(node, fmt::format("{} should have {} entries", attribute, count));
    return values;
  }

  // Returns how many iterations a Scan has; nullopt where a size is not known.
  std::optional<int64_t> length_of(const Node& node, std::vector<Walked>& walked) const {
    std::optional<int64_t> length;
    for (Walked& input : walked) {
      const auto& dims = graph_.values[static_cast<size_t>(input.id)].dims;
      if (!dims) return std::nullopt;
      const auto rank = static_cast<int64_t>(dims->size());
      if (input.axis < -rank || input.axis >= rank) fail_node(node, fmt::format("axis {} does not exist in rank {}", input.axis, rank));
      if (input.axis < 0) input.axis += rank;
      const Dim& dim = (*dims)[static_cast<size_t>(input.axis)];
      if (!dim.known()) return std::nullopt;
      if (length && *length != dim.size) fail_node(node, fmt::format("its inputs have lengths {} and {}", *length, dim.size));
      length = dim.size;
    }
    return length;
  }

  // Before opset 9 it has batches, which stay as they are.
  bool unroll_scan(size_t at, const Node& node) {
    const Graph& body = body_of(node, "body");
    const int64_t asked = attribute_int(node, "num_scan_inputs", 0);
    if (graph_.opset < 9) return false;
    if (asked < 1 || asked > static_cast<int64_t>(node.inputs.size()))
      fail_node(node, fmt::format("num_scan_inputs is {}, and it has {} inputs", asked, node.inputs.size()));
    const auto count = static_cast<size_t>(asked);
    const size_t carried = node.inputs.size() - count;
    if (std::find(node.inputs.begin(), node.inputs.end(), no_value) != node.inputs.end()) fail_node(node, "an input is left out");
    if (body.inputs.size() != node.inputs.size() || body.outputs.size() < carried || body.outputs.size() < node.outputs.size())
      fail_node(node, fmt::format("it has {} inputs and {} outputs, its body {} and {}", node.inputs.size(), node.outputs.size(),
                                  body.inputs.size(), body.outputs.size()));
    const size_t made = body.outputs.size() - carried;
    const auto axes = list_of(node, "scan_input_axes", count), directions = list_of(node, "scan_input_directions", count);
    std::vector<Walked> walked;
    for (size_t i = 0; i < count; ++i) walked.push_back({node.inputs[carried + i], axes[i], directions[i] != 0});
    const auto length = length_of(node, walked);
    if (!length || *length > most_iterations) return false;
    const size_t values_before = graph_.values.size();
    std::vector<Node> others = set_aside();
    Unrolled loop{
        {}, {node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(carried)}, {}, list_of(node, "scan_output_axes", made)};
    loop.scanned.resize(made);
    for (int64_t i = 0; i < *length; ++i) walk(node, body, walked, i, *length, loop);
    const auto output_directions = list_of(node, "scan_output_directions", made);
    for (size_t k = 0; k < made; ++k)
      if (output_directions[k] != 0) std::reverse(loop.scanned[k].begin(), loop.scanned[k].end());
    const bool whole = stack_scanned(node, body, loop);
    whole ? replace(at, node, others, loop) : undo(values_before, others);
    return whole;
  }

  // One iteration of a Scan. The graph has no nodes before and after.
  void walk(const Node& node, const Graph& body, const std::vector<Walked>& walked, int64_t i, int64_t length, Unrolled& loop) {
    const std::string prefix = fmt::format("{}/{}/", node.name, i);
    std::vector<ValueId> arguments = loop.state;
    for (const Walked& input : walked) {
      const ValueId place = add_constant(prefix + "place", scalar(input.backwards ? length - 1 - i : i));
      const Value like = graph_.values[static_cast<size_t>(input.id)];
      arguments.push_back(add_value(prefix + like.name, {"", like.type, std::nullopt}));
      add_node("Gather", {input.id, place}, arguments.back(), {{"axis", input.axis}});
    }
    take_iteration(node, append(body, arguments, prefix, node), 0, loop);
  }

  // False where data decide whether there is a next iteration. The graph has no nodes before and after.
  bool iterate(const Node& node, const Graph& body, const Bounds& bounds, Unrolled& loop) {
    bool goes_on = bounds.begins;
    for (int64_t i = 0; goes_on && i < bounds.most; ++i) {
      if (i == most_iterations) fail_node(node, fmt::format("it has not ended after {} iterations", most_iterations));
      const std::string prefix = fmt::format("{}/{}/", node.name, i);
      std::vector<ValueId> arguments{add_constant(prefix + "iteration", scalar(i)), add_constant(prefix + "condition", flag(true))};
      arguments.insert(arguments.end(), loop.state.begin(), loop.state.end());
      const std::vector<ValueId> results = append(body, arguments, prefix, node);
      if (constant_of(graph_, results[0]) == nullptr) inline_all();  // folds the nodes of this iteration
      const auto condition = known<uint8_t>(graph_, results[0], DataType::boolean);
      if (!condition) return false;
      goes_on = *condition != 0;
      take_iteration(node, results, 1, loop);
    }
    return true;
  }

  // Stacks what every iteration gave along a new axis, behind the carried values. False where there were none and their shape is not known.
  bool stack_scanned(const Node& node, const Graph& body, Unrolled& loop) {
    const size_t carried = loop.state.size();
    for (size_t k = 0; k < loop.scanned.size() && carried + k < node.outputs.size(); ++k) {
      const Value& like = body.values[static_cast<size_t>(body.outputs[body.outputs.size() - loop.scanned.size() + k])];
      const std::string prefix = fmt::format("{}/output{}/", node.name, carried + k);
      const int64_t axis = k < loop.axes.size() ? loop.axes[k] : 0;
      if (loop.scanned[k].empty() && axis != 0) return false;
      const auto stacked = loop.scanned[k].empty() ? nothing_like(like, prefix) : std::optional(stack(loop.scanned[k], like, prefix, axis));
      if (!stacked) return false;
      loop.state.push_back(*stacked);
    }
    return true;
  }

  std::optional<ValueId> nothing_like(const Value& like, const std::string& prefix) {
    if (!like.dims) return std::nullopt;
    Shape shape{0};
    for (const Dim& dim : *like.dims) {
      if (!dim.known()) return std::nullopt;
      shape.push_back(dim.size);
    }
    return add_constant(prefix + "none", make_tensor(like.type, shape));
  }

  ValueId stack(const std::vector<ValueId>& parts, const Value& like, const std::string& prefix, int64_t axis) {
    const Value of_type{"", like.type, std::nullopt};
    Tensor first_axis = make_tensor(DataType::i64, {1});
    writable<int64_t>(first_axis)[0] = axis;
    const bool as_input = graph_.opset >= 13;
    const ValueId axes = as_input ? add_constant(prefix + "axes", first_axis) : no_value;
    std::vector<ValueId> rows;
    for (const ValueId part : parts) {
      rows.push_back(add_value(fmt::format("{}{}", prefix, rows.size()), of_type));
      if (as_input)
        add_node("Unsqueeze", {part, axes}, rows.back());
      else
        add_node("Unsqueeze", {part}, rows.back(), {{"axes", std::vector<int64_t>{axis}}});
    }
    const ValueId all = add_value(prefix + "all", of_type);
    add_node("Concat", rows, all, {{"axis", axis}});
    return all;
  }
};

}  // namespace

void inline_control_flow(Graph& graph, size_t most_work) {
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), is_control_flow)) return;
  Inliner inliner(graph, most_work);
  inliner.inline_all();
  graph = inliner.take();
  validate(graph);
}

}  // namespace deepgap
