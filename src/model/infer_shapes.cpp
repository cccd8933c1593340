#include "model/shape_rules.h"

#include "model/checked.h"
#include "model/graph_tools.h"
#include "model/known_contents.h"
#include "model/tensor_contents.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

constexpr int64_t max_elements = int64_t{1} << 46;  // limit for any inferred shape: far beyond memory, far from overflow in counts
constexpr size_t max_content = 4096;                // elements of a carried value

std::map<std::string, ShapeRule, std::less<>>& rules() {
  static std::map<std::string, ShapeRule, std::less<>> all;
  return all;
}

template <typename T>
std::vector<Dim> dims_of(const Tensor& tensor) {
  std::vector<Dim> dims;
  for (const T value : contents<T>(tensor)) dims.push_back(fixed_dim(static_cast<int64_t>(value)));
  return dims;
}

std::optional<std::vector<Dim>> integer_content(const Tensor& tensor) {
  if (tensor.data == nullptr || tensor.shape.size() > 1 || element_count(tensor.shape) > static_cast<int64_t>(max_content))
    return std::nullopt;
  if (tensor.type == DataType::i64) return dims_of<int64_t>(tensor);
  if (tensor.type == DataType::i32) return dims_of<int32_t>(tensor);
  if (tensor.type == DataType::boolean) return dims_of<uint8_t>(tensor);
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<int64_t>> axes_of(ShapeContext& context) {
  if (context.has(1)) return context.known_integers(1);
  return context.ints_of("axes", {});
}

const std::optional<Dims>& ShapeContext::dims(size_t i) const {
  if (!has(i)) fail(fmt::format("its input {} is left out", i));
  return graph.values[node.inputs[i]].dims;
}

std::optional<std::vector<Dim>> ShapeContext::carried(size_t i) const {
  const auto& shape = dims(i);
  if (const Tensor* tensor = content(i)) return integer_content(*tensor);
  const auto found = contents_.find(node.inputs[i]);
  // Contents are lists: a value of higher rank has lost its order among them.
  if (found == contents_.end() || !shape || shape->size() > 1) return std::nullopt;
  if (shape->size() == 1 && shape->front() != fixed_dim(static_cast<int64_t>(found->second.size()))) return std::nullopt;
  return found->second;
}

std::optional<std::vector<int64_t>> ShapeContext::known_integers(size_t i) const {
  const auto all = carried(i);
  if (!all) return std::nullopt;
  std::vector<int64_t> values;
  for (const Dim& dim : *all) {
    if (!dim.known()) return std::nullopt;
    values.push_back(dim.size);
  }
  return values;
}

void ShapeContext::set(size_t output, DataType type, std::optional<Dims> dims) {
  if (!has_output(output)) return;
  Value& value = graph_.values[node.outputs[output]];
  value.type = type;
  if (!dims) {
    value.dims = std::nullopt;
    return;
  }
  if (dims->size() > 64) fail("the result has more than 64 dimensions");
  Shape sizes;
  for (const Dim& dim : *dims) {
    if (dim.size < 0) fail(fmt::format("the result would have shape {}", to_string(*dims)));
    sizes.push_back(dim.size);
  }
  if (!checked_elements(sizes, max_elements))
    fail(fmt::format("the result would have shape {}, more than 2^46 elements", to_string(*dims)));
  value.dims = std::move(dims);
}

void ShapeContext::retype(size_t output, DataType type) {
  if (has_output(output)) graph_.values[node.outputs[output]].type = type;
}

void ShapeContext::carry(size_t output, std::vector<Dim> content) {
  if (has_output(output) && content.size() <= max_content) contents_[node.outputs[output]] = std::move(content);
}

Dim ShapeContext::unknown(size_t output, size_t axis) const {
  return {1, fmt::format("{}.{}", has_output(output) ? graph_.values[node.outputs[output]].name : node.name, axis)};
}

std::optional<Dims> ShapeContext::broadcast(const std::optional<Dims>& a, const std::optional<Dims>& b, size_t output) const {
  if (!a || !b) return std::nullopt;
  const Dims& longer = a->size() >= b->size() ? *a : *b;
  const Dims& shorter = a->size() >= b->size() ? *b : *a;
  Dims result = longer;
  const size_t shift = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    Dim& at = result[shift + i];
    const Dim& other = shorter[i];
    if (at == other || is_one(other)) continue;
    if (is_one(at) || (other.known() && !at.known())) {
      at = other;  // an open size can only be 1 or this one
    } else if (other.known()) {
      fail(fmt::format("shapes {} and {} do not go together", to_string(*a), to_string(*b)));
    } else if (!at.known()) {
      at = unknown(output, shift + i);
    }
  }
  return result;
}

std::optional<Dim> multiply(const Dim& a, const Dim& b) {
  const auto size = checked_multiply(a.size, b.size);
  if (!size || (!a.known() && !b.known())) return std::nullopt;
  if (*size == 0) return fixed_dim(0);
  return Dim{*size, a.known() ? b.symbol : a.symbol};
}

std::optional<Dim> divide(const Dim& a, int64_t divisor) {
  if (divisor <= 0 || a.size % divisor != 0) return std::nullopt;
  return Dim{a.size / divisor, a.symbol};
}

std::optional<Dim> add(const Dim& a, const Dim& b) {
  if (a.known() && a.size == 0) return b;
  if (b.known() && b.size == 0) return a;
  const auto size = checked_add(a.size, b.size);
  if (!size || a.symbol != b.symbol) return std::nullopt;
  if (*size == 0) return fixed_dim(0);
  return Dim{*size, a.symbol};
}

std::optional<Dim> product(const Dims& dims, size_t begin, size_t end) {
  std::optional<Dim> result = fixed_dim(1);
  for (size_t i = begin; i < end; ++i) {
    if (dims[i].known() && dims[i].size == 0) return fixed_dim(0);
    if (result) result = multiply(*result, dims[i]);
  }
  return result;
}

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ',';
    if (dims[i].known())
      text += fmt::format("{}", dims[i].size);
    else if (dims[i].size == 1)
      text += dims[i].symbol;
    else
      text += fmt::format("{}*{}", dims[i].size, dims[i].symbol);
  }
  return text + "]";
}

bool add_shape_rules(std::initializer_list<std::pair<const char*, ShapeRule>> added) {
  for (const auto& [op, rule] : added) rules().emplace(op, rule);
  return true;
}

std::vector<std::string> shape_inferred_operators() {
  std::vector<std::string> names;
  for (const auto& [op, rule] : rules()) names.push_back(op);
  return names;
}

namespace {

// Returns the input that says which sizes the node makes; nullopt for other operators.
std::optional<size_t> input_of_sizes(const Node& node) {
  if (!node.domain.empty()) return std::nullopt;
  if (node.op == "Reshape" || node.op == "Expand") return 1;
  if (node.op == "ConstantOfShape") return 0;
  return node.op == "Resize" ? std::optional<size_t>(3) : std::nullopt;
}

// Returns the sizes that the file declares for what the node makes, where an input of the network says them at run time: then nothing else
// is known of them before. nullopt: it declares none, or not all.
std::optional<Dims> declared_sizes(const Graph& graph, const Node& node) {
  const auto input = input_of_sizes(node);
  if (!input || *input >= node.inputs.size() || node.outputs.empty() || node.outputs[0] == no_value) return std::nullopt;
  if (std::find(graph.inputs.begin(), graph.inputs.end(), node.inputs[*input]) == graph.inputs.end()) return std::nullopt;
  const auto& dims = graph.values[node.outputs[0]].dims;
  const bool all = dims && std::all_of(dims->begin(), dims->end(), [](const Dim& dim) { return dim.known() && dim.size > 0; });
  return all ? dims : std::nullopt;
}

// Returns whether a result of these sizes, of which some may be open, can have the declared ones.
bool may_have(const Node& node, const Graph& graph, const Dims& declared) {
  const auto& found = graph.values[node.outputs[0]].dims;
  if (found && found->size() != declared.size()) return false;
  for (size_t i = 0; found && i < declared.size(); ++i)
    if ((*found)[i].known() && (*found)[i] != declared[i]) return false;
  if (node.op != "Reshape" || !graph.values[node.inputs[0]].dims) return true;
  const Dims& x = *graph.values[node.inputs[0]].dims;
  const auto before = product(x, 0, x.size()), after = product(declared, 0, declared.size());
  return before && after && *before == *after;
}

Contents infer(Graph& graph) {
  Contents contents;
  for (const Node& node : graph.nodes) {
    const auto found = rules().find(node.domain.empty() ? node.op : node.domain + "." + node.op);
    if (found == rules().end()) continue;
    const auto declared = declared_sizes(graph, node);
    for (const ValueId id : node.outputs) {
      if (id != no_value) graph.values[id].dims.reset();
    }
    ShapeContext context(graph, node, contents);
    found->second(context);
    if (declared && may_have(node, graph, *declared)) graph.values[node.outputs[0]].dims = declared;
  }
  return contents;
}

template <typename T>
Tensor tensor_of(const Value& value, const std::vector<Dim>& content) {
  Shape shape;
  for (const Dim& dim : *value.dims) shape.push_back(dim.size);
  Tensor tensor = make_tensor(value.type, std::move(shape));
  std::transform(content.begin(), content.end(), writable<T>(tensor).begin(), [](const Dim& dim) { return static_cast<T>(dim.size); });
  return tensor;
}

// nullopt: not all of it is known.
std::optional<Tensor> known_tensor(const Value& value, const std::vector<Dim>& content) {
  const bool all = std::all_of(content.begin(), content.end(), [](const Dim& dim) { return dim.known(); });
  if (!all || !value.dims || value.dims->size() > 1) return std::nullopt;
  const Dim count = value.dims->empty() ? fixed_dim(1) : value.dims->front();
  if (count != fixed_dim(static_cast<int64_t>(content.size()))) return std::nullopt;
  if (value.type == DataType::i64) return tensor_of<int64_t>(value, content);
  if (value.type == DataType::i32) return tensor_of<int32_t>(value, content);
  if (value.type == DataType::boolean) return tensor_of<uint8_t>(value, content);
  return std::nullopt;
}

}  // namespace

void infer_shapes(Graph& graph) { infer(graph); }

std::map<ValueId, Tensor> known_contents(Graph& graph) {
  std::map<ValueId, Tensor> known;
  for (const auto& [id, content] : infer(graph)) {
    if (graph.constants.contains(id)) continue;
    if (auto tensor = known_tensor(graph.values[id], content)) known.emplace(id, std::move(*tensor));
  }
  return known;
}

}  // namespace deepgap
