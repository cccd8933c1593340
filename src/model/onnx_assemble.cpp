// Names to ids: the second half of the ONNX reader.
#include "model/checked.h"
#include "model/graph_tools.h"
#include "model/onnx_parts.h"
#include "model/operator_arity.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

namespace deepgap {
namespace {

[[noreturn]] void fail(const std::string& cause) { throw Error(ErrorKind::input, cause); }

class Assembler {
 public:
  Assembler(GraphParts parts, ReadState& state, bool has_outer) : parts_(std::move(parts)), state_(state), has_outer_(has_outer) {}
  Graph assemble();

 private:
  ValueId add_value(std::string_view name, DataType type, std::optional<Dims> dims);
  void add_inputs();
  void add_initializers();
  void add_node_outputs();
  void add_nodes();
  void add_outputs();
  bool add_if_constant(NodePart& part);
  ValueId read(std::string_view name, const std::string& reader);
  std::string node_name(const NodePart& part, size_t position);
  void name_left_out_outputs();
  void check_size(const ValuePart& part) const;
  void apply_hints();

  GraphParts parts_;
  ReadState& state_;
  bool has_outer_;
  Graph graph_;
  std::unordered_map<std::string_view, ValueId> ids_;
  std::unordered_set<std::string> node_names_;
  std::vector<bool> is_constant_node_;
};

ValueId Assembler::add_value(std::string_view name, DataType type, std::optional<Dims> dims) {
  const auto id = static_cast<ValueId>(graph_.values.size());
  if (!ids_.emplace(name, id).second) fail(fmt::format("the name '{}' is given twice", name));
  graph_.values.push_back({std::string(name), type, std::move(dims)});
  return id;
}

Dims fixed_dims(const Shape& shape) {
  Dims dims;
  for (const int64_t size : shape) dims.push_back({size, ""});
  return dims;
}

void Assembler::add_initializers() {
  for (NamedTensor& initializer : parts_.initializers) {
    if (initializer.name.empty()) fail("an initialiser without a name");
    const ValueId id = add_value(initializer.name, initializer.tensor.type, fixed_dims(initializer.tensor.shape));
    graph_.constants.emplace(id, std::move(initializer.tensor));
  }
}

// Before IR version 4 every initialiser is listed as an input too; it stays a constant.
void Assembler::add_inputs() {
  std::unordered_set<std::string_view> seen;
  for (const ValuePart& input : parts_.inputs) {
    if (input.name.empty()) fail("an input without a name");
    if (!seen.insert(input.name).second) fail(fmt::format("the name '{}' is given twice", input.name));
    if (ids_.count(input.name) != 0) continue;
    if (!input.type && !has_outer_) fail(fmt::format("input '{}' has no type", input.name));
    graph_.inputs.push_back(add_value(input.name, input.type.value_or(DataType::f32), input.dims));
  }
}

template <typename T>
Tensor tensor_of(DataType type, const std::vector<T>& content, Shape shape) {
  Tensor tensor = make_tensor(type, std::move(shape));
  if (!content.empty()) std::memcpy(writable<T>(tensor).data(), content.data(), content.size() * sizeof(T));
  return tensor;
}

std::optional<Tensor> constant_content(const NodePart& part) {
  for (const auto& [name, attribute] : part.attributes) {
    if (const auto* tensor = std::get_if<Tensor>(&attribute); tensor != nullptr && name == "value") return *tensor;
    if (const auto* number = std::get_if<float>(&attribute); number != nullptr && name == "value_float")
      return tensor_of<float>(DataType::f32, {*number}, {});
    if (const auto* number = std::get_if<int64_t>(&attribute); number != nullptr && name == "value_int")
      return tensor_of<int64_t>(DataType::i64, {*number}, {});
    if (const auto* numbers = std::get_if<std::vector<float>>(&attribute); numbers != nullptr && name == "value_floats")
      return tensor_of(DataType::f32, *numbers, {static_cast<int64_t>(numbers->size())});
    if (const auto* numbers = std::get_if<std::vector<int64_t>>(&attribute); numbers != nullptr && name == "value_ints")
      return tensor_of(DataType::i64, *numbers, {static_cast<int64_t>(numbers->size())});
  }
  return std::nullopt;
}

bool Assembler::add_if_constant(NodePart& part) {
  if (part.op != "Constant" || !part.domain.empty()) return false;
  if (part.outputs.size() != 1 || part.outputs[0].empty()) fail(fmt::format("Constant node '{}' should have one output", part.name));
  const auto content = constant_content(part);
  if (!content) fail(fmt::format("Constant node '{}' ('{}') has no content that is supported", part.name, part.outputs[0]));
  const ValueId id = add_value(part.outputs[0], content->type, fixed_dims(content->shape));
  graph_.constants.emplace(id, *content);
  return true;
}

void Assembler::add_node_outputs() {
  is_constant_node_.resize(parts_.nodes.size());
  for (size_t i = 0; i < parts_.nodes.size(); ++i) {
    NodePart& part = parts_.nodes[i];
    is_constant_node_[i] = add_if_constant(part);
    if (is_constant_node_[i]) continue;
    bool any = false;
    for (const std::string_view output : part.outputs) {
      if (output.empty()) continue;
      add_value(output, DataType::f32, std::nullopt);
      any = true;
    }
    if (!any) fail(fmt::format("{} node '{}' has no outputs", part.op, part.name));
  }
}

// A value of the graph around this one becomes a value here that nothing makes.
ValueId Assembler::read(std::string_view name, const std::string& reader) {
  if (name.empty()) return no_value;
  if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
  if (!has_outer_) fail(fmt::format("{} reads '{}', which nothing makes", reader, name));
  return add_value(name, DataType::f32, std::nullopt);
}

std::string Assembler::node_name(const NodePart& part, size_t position) {
  std::string base = part.name.empty() ? fmt::format("{}_{}", part.op, position) : std::string(part.name);
  std::string name = base;
  for (int copy = 2; !node_names_.insert(name).second; ++copy) {
    if (copy > 1000) fail(fmt::format("more than 1000 nodes are called '{}'", base));
    name = fmt::format("{}#{}", base, copy);
  }
  return name;
}

void Assembler::add_nodes() {
  for (size_t i = 0; i < parts_.nodes.size(); ++i) {
    NodePart& part = parts_.nodes[i];
    if (is_constant_node_[i]) continue;
    Node node{node_name(part, i), std::string(part.op), std::string(part.domain), {}, {}, std::move(part.attributes)};
    const std::string reader = fmt::format("node '{}'", node.name);
    for (const std::string_view input : part.inputs) node.inputs.push_back(read(input, reader));
    for (const std::string_view output : part.outputs) node.outputs.push_back(output.empty() ? no_value : ids_.at(output));
    // Outputs and inputs left out at the end need no place.
    while (!node.inputs.empty() && node.inputs.back() == no_value) node.inputs.pop_back();
    while (!node.outputs.empty() && node.outputs.back() == no_value) node.outputs.pop_back();
    check_arity(node, state_.opset);
    graph_.nodes.push_back(std::move(node));
  }
}

void Assembler::add_outputs() {
  if (parts_.outputs.empty() && !has_outer_) fail("the graph has no outputs");
  std::unordered_set<std::string_view> seen;
  for (const ValuePart& output : parts_.outputs) {
    if (output.name.empty()) fail("an output without a name");
    if (!seen.insert(output.name).second) fail(fmt::format("output '{}' is given twice", output.name));
    graph_.outputs.push_back(read(output.name, "the graph's output"));
  }
}

// Nobody else checks the shape of what an operator without a rule makes.
void Assembler::check_size(const ValuePart& part) const {
  Shape sizes;
  for (const Dim& dim : *part.dims) sizes.push_back(dim.size);
  if (!checked_elements(sizes, state_.limits.max_elements))
    fail(fmt::format("value '{}' claims to have more than {} elements", part.name, state_.limits.max_elements));
}

// Names the outputs that an operator always makes, for passes and engines, even where the file leaves them out.
void Assembler::name_left_out_outputs() {
  std::unordered_set<std::string> made;
  for (Node& node : graph_.nodes) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != no_value || !always_made(node, i, state_.opset)) continue;
      const std::string base = fmt::format("{}.output{}", node.name, i);
      std::string name = base;
      for (int copy = 2; ids_.count(name) != 0 || !made.insert(name).second; ++copy) name = fmt::format("{}#{}", base, copy);
      node.outputs[i] = static_cast<ValueId>(graph_.values.size());
      graph_.values.push_back({name, DataType::f32, std::nullopt});
    }
  }
}

// Applies what the file says about the values that nodes make: a start for operators that shape inference does not know.
void Assembler::apply_hints() {
  std::unordered_set<std::string> symbols;
  for (const ValueId id : graph_.inputs) {
    if (!graph_.values[id].dims) continue;
    for (const Dim& dim : *graph_.values[id].dims) symbols.insert(dim.symbol);
  }
  std::vector<bool> is_fixed(graph_.values.size());
  for (const ValueId id : graph_.inputs) is_fixed[id] = true;
  for (const auto& [id, tensor] : graph_.constants) is_fixed[id] = true;
  const auto apply = [&](const ValuePart& part) {
    const auto found = ids_.find(part.name);
    if (found == ids_.end() || is_fixed[found->second]) return;
    Value& value = graph_.values[found->second];
    if (part.type) value.type = *part.type;
    if (!part.dims) return;
    check_size(part);
    // A symbol that no input has says nothing that binding could make known.
    const bool bound =
        std::all_of(part.dims->begin(), part.dims->end(), [&](const Dim& dim) { return dim.known() || symbols.count(dim.symbol) != 0; });
    if (bound) value.dims = part.dims;
  };
  for (const ValuePart& part : parts_.inner) apply(part);
  for (const ValuePart& part : parts_.outputs) apply(part);
}

Graph Assembler::assemble() {
  graph_.name = parts_.name;
  graph_.opset = state_.opset;
  add_initializers();
  add_inputs();
  add_node_outputs();
  add_nodes();
  add_outputs();
  name_left_out_outputs();
  leave_out_unread_outputs(graph_);
  apply_hints();
  sort_nodes(graph_);
  return std::move(graph_);
}

}  // namespace

Graph assemble_graph(GraphParts parts, ReadState& state, bool has_outer) {
  return Assembler(std::move(parts), state, has_outer).assemble();
}

}  // namespace deepgap
