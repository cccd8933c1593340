// Open sizes become known ones.
#include "model/checked.h"
#include "model/graph_tools.h"

#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

// Sizes that inference sets anew must not stay behind: what is left of a node's outputs is what the file said of operators without a
// rule, and only as long as all of its symbols are those of inputs.
void forget_inferred(Graph& graph) {
  const auto symbols = open_symbols(graph);
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.outputs) {
      if (id == no_value || !graph.values[id].dims) continue;
      for (const Dim& dim : *graph.values[id].dims) {
        if (dim.known() || symbols.count(dim.symbol) != 0) continue;
        graph.values[id].dims.reset();
        break;
      }
    }
  }
}

ValueId input_called(const Graph& graph, const std::string& name) {
  std::vector<std::string> names;
  for (const ValueId id : graph.inputs) {
    if (graph.values[id].name == name) return id;
    names.push_back(graph.values[id].name);
  }
  throw Error(ErrorKind::usage, unknown_name("input", name, names));
}

// An input of no known rank has the one that is given; what stays open of it can be the batch alone.
void give_rank(Value& value, const std::vector<int64_t>& sizes) {
  value.dims = Dims(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != -1) continue;
    if (i > 0)
      throw Error(ErrorKind::usage, fmt::format("input '{}': size {} has to be a number, the file does not give it", value.name, i));
    value.dims->front() = {1, batch_symbol};
  }
}

void bind_input(Value& value, const std::vector<int64_t>& sizes) {
  if (!value.dims) give_rank(value, sizes);
  if (value.dims->size() != sizes.size())
    throw Error(ErrorKind::usage, fmt::format("input '{}' has {} dimensions, not {}", value.name, value.dims->size(), sizes.size()));
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) continue;
    if (sizes[i] < 0) throw Error(ErrorKind::usage, fmt::format("input '{}': size {} is {}", value.name, i, sizes[i]));
    (*value.dims)[i] = {sizes[i], ""};
  }
}

}  // namespace

std::map<std::string, std::string> open_symbols(const Graph& graph) {
  std::map<std::string, std::string> symbols;
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.values[id];
    for (size_t i = 0; value.dims && i < value.dims->size(); ++i) {
      const Dim& dim = (*value.dims)[i];
      if (!dim.known()) symbols.emplace(dim.symbol, fmt::format("input '{}', dimension {}", value.name, i));
    }
  }
  return symbols;
}

Graph bind_symbols(const Graph& graph, const std::map<std::string, int64_t>& symbols) {
  Graph bound = graph;
  forget_inferred(bound);
  for (Value& value : bound.values) {
    for (size_t i = 0; value.dims && i < value.dims->size(); ++i) {
      Dim& dim = (*value.dims)[i];
      const auto found = symbols.find(dim.symbol);
      if (dim.known() || found == symbols.end()) continue;
      const auto size = checked_multiply(dim.size, found->second);
      if (!size || *size < 0)
        throw Error(ErrorKind::usage, fmt::format("invalid size '{1}' for '{0}' of '{2}'", dim.symbol, found->second, value.name));
      dim = {*size, ""};
    }
  }
  infer_shapes(bound);
  return bound;
}

Graph bind_shapes(const Graph& graph, const std::map<std::string, std::vector<int64_t>>& shapes) {
  Graph bound = graph;
  std::map<std::string, int64_t> symbols;
  bool changes_known = false;
  for (const auto& [name, sizes] : shapes) {
    const ValueId id = input_called(graph, name);
    const auto before = graph.values[id].dims;
    bind_input(bound.values[id], sizes);
    for (size_t i = 0; before && i < before->size(); ++i) {
      const Dim& was = (*before)[i];
      const Dim& is = (*bound.values[id].dims)[i];
      if (was == is) continue;
      changes_known |= was.known();
      // The same symbol elsewhere means the same size.
      if (!was.known() && was.size == 1) symbols.emplace(was.symbol, is.size);
    }
  }
  if (changes_known) {  // nothing the file said of inner values holds any more
    for (const Node& node : bound.nodes) {
      for (const ValueId id : node.outputs) {
        if (id != no_value) bound.values[id].dims.reset();
      }
    }
  }
  return bind_symbols(bound, symbols);
}

const Tensor* constant_of(const Graph& graph, ValueId id) {
  const auto found = graph.constants.find(id);
  return found == graph.constants.end() ? nullptr : &found->second;
}

std::vector<Shape> known_shapes(const Graph& graph, std::span<const ValueId> ids) {
  std::vector<Shape> shapes;
  for (const ValueId id : ids) shapes.push_back(known_shape(graph, id));
  return shapes;
}

Shape known_shape(const Graph& graph, ValueId id) {
  const Value& value = graph.values.at(static_cast<size_t>(id));
  if (!value.dims) throw Error(ErrorKind::input, fmt::format("the shape of '{}' is not known", value.name));
  Shape shape;
  for (const Dim& dim : *value.dims) {
    if (!dim.known()) throw Error(ErrorKind::input, fmt::format("size {} of '{}' is open ({})", shape.size(), value.name, dim.symbol));
    shape.push_back(dim.size);
  }
  return shape;
}

}  // namespace deepgap
