#include "model/onnx_parts.h"

#include "model/onnx_types.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace deepgap {
namespace {

// AttributeProto.type by number; what is empty has no counterpart in Graph.
constexpr std::string_view attribute_kinds[] = {"UNDEFINED",      "FLOAT",      "INT",        "STRING",  "TENSOR", "GRAPH",
                                                "FLOATS",         "INTS",       "STRINGS",    "TENSORS", "GRAPHS", "SPARSE_TENSOR",
                                                "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};

std::string as_string(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// An AttributeProto as it stands; `kind` says which field counts where several are set.
struct AttributeFields {
  std::string_view name;
  int64_t kind = 0;
  int64_t seen_kind = 0;  // kind of the last content field: old files leave `type` out
  float number = 0;
  int64_t integer = 0;
  std::string text;
  std::optional<std::span<const std::byte>> tensor, graph;
  std::vector<float> numbers;
  std::vector<int64_t> integers;
  std::vector<std::string> texts;
  std::string_view refers_to;  // an attribute of the function around it; empty: none
};

// The kind of content that a field of AttributeProto holds; 0: it holds none.
int64_t kind_of_content(uint32_t field) {
  constexpr std::array<std::pair<uint32_t, int64_t>, 14> kinds{
      {{2, 1}, {3, 2}, {4, 3}, {5, 4}, {6, 5}, {7, 6}, {8, 7}, {9, 8}, {10, 9}, {11, 10}, {22, 11}, {23, 12}, {14, 13}, {15, 14}}};
  const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return kind.first == field; });
  return found == kinds.end() ? 0 : found->second;
}

void read_content(const WireReader& reader, AttributeFields& fields) {
  if (const int64_t kind = kind_of_content(reader.field()); kind != 0) fields.seen_kind = kind;
  switch (reader.field()) {
    case 2:
      fields.number = reader.number();
      break;
    case 3:
      fields.integer = reader.integer();
      break;
    case 4:
      fields.text = as_string(reader.bytes());
      break;
    case 5:
      fields.tensor = reader.bytes();
      break;
    case 6:
      fields.graph = reader.bytes();
      break;
    case 7:
      reader.append_floats(fields.numbers);
      break;
    case 8:
      reader.append_integers(fields.integers);
      break;
    case 9:
      fields.texts.push_back(as_string(reader.bytes()));
      break;
    default:
      break;
  }
}

AttributeFields read_attribute(WireReader& reader) {
  AttributeFields fields;
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        fields.name = reader.text();
        break;
      case 20:
        fields.kind = reader.integer();
        break;
      case 21:
        fields.refers_to = reader.text();
        break;
      default:
        read_content(reader, fields);
        break;
    }
  }
  if (fields.name.empty()) reader.fail("an attribute without a name");
  if (fields.kind < 0 || fields.kind >= static_cast<int64_t>(std::size(attribute_kinds)))
    reader.fail(fmt::format("attribute '{}' has type {}, which does not exist", fields.name, fields.kind));
  return fields;
}

Attribute attribute_content(const WireReader& reader, AttributeFields& fields, ReadState& state, int depth, FunctionScope* scope) {
  switch (fields.kind != 0 ? fields.kind : fields.seen_kind) {
    case 1:
      return fields.number;
    case 2:
      return fields.integer;
    case 3:
      return std::move(fields.text);
    case 4:
      if (!fields.tensor) reader.fail(fmt::format("attribute '{}' should hold a tensor", fields.name));
      return parse_tensor(reader.part(*fields.tensor), state.external, state.limits).tensor;
    case 5:
      if (!fields.graph) reader.fail(fmt::format("attribute '{}' should hold a graph", fields.name));
      return std::make_shared<const Graph>(
          assemble_graph(parse_graph_parts(reader.part(*fields.graph), state, depth + 1, scope), state, true));
    case 6:
      return std::move(fields.numbers);
    case 7:
      return std::move(fields.integers);
    case 8:
      return std::move(fields.texts);
    default:
      break;
  }
  const int64_t kind = fields.kind != 0 ? fields.kind : fields.seen_kind;
  reader.fail(fmt::format("attribute '{}' of type {} is not supported", fields.name, attribute_kinds[kind]));
}

using Attributes = std::map<std::string, Attribute>;

// An attribute that refers to one of the function around it has its value, or is not there where the call does not give it.
void add_attribute(WireReader message, Attributes& attributes, ReadState& state, int depth, FunctionScope* scope) {
  AttributeFields fields = read_attribute(message);
  const std::string name(fields.name);
  if (attributes.count(name) != 0) message.fail(fmt::format("attribute '{}' is given twice", name));
  if (fields.refers_to.empty()) {
    attributes.emplace(name, attribute_content(message, fields, state, depth, scope));
    return;
  }
  if (scope == nullptr) message.fail(fmt::format("attribute '{}' refers to a function's attribute, outside of a function", name));
  if (const Attribute* given = scope->attribute(std::string(fields.refers_to))) attributes.emplace(name, *given);
}

std::string_view value_name(std::string_view name, FunctionScope* scope) { return scope == nullptr ? name : scope->value_name(name); }

struct ParsedNode {
  NodePart part;
  std::string_view overload;
};

ParsedNode parse_node(WireReader reader, ReadState& state, int depth, FunctionScope* scope) {
  ParsedNode parsed;
  NodePart& node = parsed.part;
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        state.count_value();
        node.inputs.push_back(value_name(reader.text(), scope));
        break;
      case 2:
        state.count_value();
        node.outputs.push_back(value_name(reader.text(), scope));
        break;
      case 3:
        node.name = scope == nullptr ? reader.text() : scope->node_name(reader.text());
        break;
      case 4:
        node.op = reader.text();
        break;
      case 5:
        add_attribute(reader.message(), node.attributes, state, depth, scope);
        break;
      case 7:
        node.domain = reader.text();
        break;
      case 8:
        parsed.overload = reader.text();
        break;
      default:
        break;
    }
  }
  if (node.op.empty()) reader.fail(fmt::format("node '{}' has no operator", node.name));
  if (node.domain == "ai.onnx") node.domain = "";
  return parsed;
}

void add_node(WireReader message, ReadState& state, int depth, FunctionScope* scope, std::vector<NodePart>& nodes);

// The nodes of the function in place of its call.
void inline_call(const NodePart& call, LocalFunction& function, ReadState& state, int depth, std::vector<NodePart>& nodes) {
  Attributes attributes = call.attributes;
  Attributes defaults;
  for (const WireReader& attribute : function.defaults) add_attribute(attribute, defaults, state, depth, nullptr);
  attributes.merge(defaults);
  FunctionScope scope(state.functions, function, call.name, call.inputs, call.outputs, std::move(attributes));
  for (const WireReader& message : function.nodes) add_node(message, state, depth, &scope, nodes);
  for (const auto& [input, output] : scope.passed_through()) nodes.push_back({{}, "Identity", {}, {input}, {output}, {}});
}

void add_node(WireReader message, ReadState& state, int depth, FunctionScope* scope, std::vector<NodePart>& nodes) {
  state.count_node();
  ParsedNode parsed = parse_node(message, state, depth, scope);
  NodePart& node = parsed.part;
  if (LocalFunction* function = state.functions.find({node.domain, node.op, parsed.overload})) {
    inline_call(node, *function, state, depth, nodes);
    return;
  }
  if (scope != nullptr && node.domain.empty()) scope->require_same_operator(node.op, state.opset);
  nodes.push_back(std::move(node));
}

Dim parse_dim(WireReader reader, std::string_view value_name, size_t axis) {
  std::optional<int64_t> size;
  std::string_view symbol;
  while (reader.next()) {
    if (reader.field() == 1) size = reader.integer();
    if (reader.field() == 2) symbol = reader.text();
  }
  // Some exporters write an open size so: it is not a name that makes two of them equal. A size of 0 counts as open, too: nobody wants a
  // network that computes nothing.
  if (symbol == "?" || symbol == "-1" || symbol == "None") symbol = {};
  if (size && *size < -1) reader.fail(fmt::format("dimension {} of '{}' is {}", axis, value_name, *size));
  if (size && *size > 0) return {*size, ""};
  return {1, symbol.empty() ? fmt::format("{}.{}", value_name, axis) : std::string(symbol)};
}

void parse_tensor_type(WireReader reader, ValuePart& value, bool strict) {
  while (reader.next()) {
    if (reader.field() == 1 && reader.integer() != 0) {
      value.type = data_type_of(reader.integer());
      if (!value.type && strict)
        throw Error(ErrorKind::input,
                    fmt::format("'{}' has element type {}, which is not supported", value.name, onnx_type_name(reader.integer())));
    } else if (reader.field() == 2) {
      value.dims.emplace();
      WireReader shape = reader.message();
      while (shape.next()) {
        if (shape.field() != 1) continue;
        if (value.dims->size() >= 64) shape.fail(fmt::format("'{}' has more than 64 dimensions", value.name));
        value.dims->push_back(parse_dim(shape.message(), value.name, value.dims->size()));
      }
    }
  }
}

// `strict`: an input or output of a graph has to be a tensor. What the file says of inner values is only a hint.
ValuePart parse_value(WireReader reader, ReadState& state, bool strict, FunctionScope* scope) {
  state.count_value();
  ValuePart value;
  std::optional<std::span<const std::byte>> type;
  while (reader.next()) {
    if (reader.field() == 1) value.name = value_name(reader.text(), scope);
    if (reader.field() == 2) type = reader.bytes();
  }
  if (!type) return value;
  WireReader type_reader = reader.part(*type);
  while (type_reader.next()) {
    if (type_reader.field() == 1)
      parse_tensor_type(type_reader.message(), value, strict);
    else if (strict && (type_reader.field() == 4 || type_reader.field() == 5 || type_reader.field() == 8 || type_reader.field() == 9))
      throw Error(ErrorKind::input,
                  fmt::format("'{}' is not a tensor: sequences, maps, optional and sparse values are not supported", value.name));
  }
  return value;
}

}  // namespace

void ReadState::count_node() {
  if (++nodes > limits.max_nodes) throw Error(ErrorKind::input, fmt::format("more than {} nodes", limits.max_nodes));
}

void ReadState::count_value() {
  // A value is named where it is made, where it is read and where it is described.
  if (++values > 4 * limits.max_values) throw Error(ErrorKind::input, fmt::format("more than {} values", limits.max_values));
}

GraphParts parse_graph_parts(WireReader reader, ReadState& state, int depth, FunctionScope* scope) {
  if (depth >= state.limits.max_depth) reader.fail(fmt::format("subgraphs are nested deeper than {}", state.limits.max_depth));
  GraphParts parts;
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        add_node(reader.message(), state, depth, scope, parts.nodes);
        break;
      case 2:
        parts.name = reader.text();
        break;
      case 5:
        state.count_value();
        parts.initializers.push_back(parse_tensor(reader.message(), state.external, state.limits));
        parts.initializers.back().name = value_name(parts.initializers.back().name, scope);
        break;
      case 11:
        parts.inputs.push_back(parse_value(reader.message(), state, true, scope));
        break;
      case 12:
        parts.outputs.push_back(parse_value(reader.message(), state, true, scope));
        break;
      case 13:
        parts.inner.push_back(parse_value(reader.message(), state, false, scope));
        break;
      case 15:
        reader.fail("sparse initialisers are not supported");
      default:
        break;
    }
  }
  return parts;
}

}  // namespace deepgap
