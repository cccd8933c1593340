#include "model/onnx_writer.h"

#include "base/file.h"
#include "model/graph_tools.h"
#include "model/onnx_types.h"
#include "model/packed_weights.h"
#include "model/wire.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <set>

namespace deepgap {
namespace {

// Field numbers are onnx.proto's. A message is written to a string of its own, then put into the one around it, but for tensors: their
// bytes are copied once, straight into the graph.
struct Message {
  std::string bytes;
  WireWriter writer{bytes};

  Message() = default;
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
};

std::string_view raw_bytes(const Tensor& tensor, const std::string& name) {
  if (const PackedContent* packed = packed_content(tensor))
    return {reinterpret_cast<const char*>(packed->bytes.data()), packed->bytes.size()};
  const size_t size = tensor.bytes();
  if (size > 0 && tensor.data == nullptr) throw Error(ErrorKind::internal, fmt::format("cannot write '{}': it has no data yet", name));
  return {reinterpret_cast<const char*>(tensor.data.get()), size};
}

// Appends the tensor as field `field` of the message that `out` holds.
void append_tensor(std::string& out, uint32_t field, const Tensor& tensor, const std::string& name) {
  const std::string_view raw = raw_bytes(tensor, name);
  Message head;
  for (const int64_t size : tensor.shape) head.writer.integer(1, size);
  const PackedContent* packed = packed_content(tensor);
  head.writer.integer(2, packed != nullptr ? packed->onnx_type : onnx_type_of(tensor.type));
  if (!name.empty()) head.writer.bytes(8, name);
  head.writer.header(9, raw.size());
  WireWriter(out).header(field, head.bytes.size() + raw.size());
  out.append(head.bytes).append(raw);
}

void append_graph(std::string& out, uint32_t field, const Graph& graph);

struct AppendAttribute {
  Message& message;
  void operator()(float value) {
    put(1, [&] { message.writer.number(2, value); });
  }
  void operator()(int64_t value) {
    put(2, [&] { message.writer.integer(3, value); });
  }
  void operator()(const std::string& value) {
    put(3, [&] { message.writer.bytes(4, value); });
  }
  void operator()(const Tensor& value) {
    put(4, [&] { append_tensor(message.bytes, 5, value, ""); });
  }
  void operator()(const std::shared_ptr<const Graph>& value) {
    put(5, [&] { append_graph(message.bytes, 6, *value); });
  }
  void operator()(const std::vector<float>& values) {
    put(6, [&] {
      for (const float value : values) message.writer.number(7, value);
    });
  }
  void operator()(const std::vector<int64_t>& values) {
    put(7, [&] {
      for (const int64_t value : values) message.writer.integer(8, value);
    });
  }
  void operator()(const std::vector<std::string>& values) {
    put(8, [&] {
      for (const std::string& value : values) message.writer.bytes(9, value);
    });
  }

 private:
  template <typename Work>
  void put(int64_t kind, Work content) {
    content();
    message.writer.integer(20, kind);
  }
};

void append_node(std::string& out, const Graph& graph, const Node& node) {
  Message message;
  const auto name_of_value = [&](ValueId id) { return id == no_value ? std::string_view() : std::string_view(graph.values[id].name); };
  for (const ValueId id : node.inputs) message.writer.bytes(1, name_of_value(id));
  for (const ValueId id : node.outputs) message.writer.bytes(2, name_of_value(id));
  message.writer.bytes(3, node.name);
  message.writer.bytes(4, node.op);
  for (const auto& [name, content] : node.attributes) {
    Message attribute;
    attribute.writer.bytes(1, name);
    std::visit(AppendAttribute{attribute}, content);
    message.writer.bytes(5, attribute.bytes);
  }
  if (!node.domain.empty()) message.writer.bytes(7, node.domain);
  WireWriter(out).bytes(1, message.bytes);
}

// The sizes that a file states for a value. What engines infer by themselves is left to them: a size that they would find otherwise, as the
// float nearest to a factor makes it, must not change what they answer. Nor is a size of 0 written, which some take for an open one.
enum class Sizes { all, open_ones };

void append_value(std::string& out, uint32_t field, const Value& value, Sizes sizes = Sizes::all) {
  Message shape;
  for (size_t i = 0; value.dims && i < value.dims->size(); ++i) {
    const Dim& size = (*value.dims)[i];
    Message dim;
    const bool is_left_open = size.known() && (size.size == 0 || sizes == Sizes::open_ones);
    if (size.known() && !is_left_open) dim.writer.integer(1, size.size);
    if (!size.known()) dim.writer.bytes(2, size.size == 1 ? size.symbol : fmt::format("{}*{}", size.size, size.symbol));
    shape.writer.bytes(1, dim.bytes);
  }
  Message tensor, type, info;
  tensor.writer.integer(1, onnx_type_of(value.type));
  if (value.dims) tensor.writer.bytes(2, shape.bytes);
  type.writer.bytes(1, tensor.bytes);
  info.writer.bytes(1, value.name);
  info.writer.bytes(2, type.bytes);
  WireWriter(out).bytes(field, info.bytes);
}

size_t estimated_size(const Graph& graph) {
  size_t bytes = 4096 + 512 * graph.nodes.size();
  for (const auto& [id, tensor] : graph.constants) bytes += 256 + tensor.bytes();
  return bytes;
}

// Values whose sizes follow from the operator that makes them.
std::set<ValueId> inferred_values(const Graph& graph) {
  static const std::vector<std::string> names = shape_inferred_operators();
  std::set<ValueId> inferred;
  for (const Node& node : graph.nodes)
    if (node.domain.empty() && std::binary_search(names.begin(), names.end(), node.op))
      inferred.insert(node.outputs.begin(), node.outputs.end());
  return inferred;
}

std::string graph_message(const Graph& graph, bool top_level) {
  std::string out;
  out.reserve(estimated_size(graph) + 4096);  // the model around the graph fits in as well
  for (const Node& node : graph.nodes) append_node(out, graph, node);
  WireWriter(out).bytes(2, graph.name.empty() ? std::string_view("graph") : std::string_view(graph.name));
  for (const auto& [id, tensor] : graph.constants) append_tensor(out, 5, tensor, graph.values[id].name);
  for (const ValueId id : graph.inputs) append_value(out, 11, graph.values[id]);
  const std::set<ValueId> inferred = inferred_values(graph);
  for (const ValueId id : graph.outputs) {
    // A subgraph's output that it takes from outside has no type of its own.
    if (top_level || graph.values[id].dims)
      append_value(out, 12, graph.values[id], top_level && inferred.contains(id) ? Sizes::open_ones : Sizes::all);
    else {
      Message info;
      info.writer.bytes(1, graph.values[id].name);
      WireWriter(out).bytes(12, info.bytes);
    }
  }
  return out;
}

void append_graph(std::string& out, uint32_t field, const Graph& graph) { WireWriter(out).bytes(field, graph_message(graph, false)); }

void collect_domains(const Graph& graph, std::set<std::string>& domains) {
  for (const Node& node : graph.nodes) {
    if (!node.domain.empty()) domains.insert(node.domain);
    for (const auto& [name, content] : node.attributes) {
      const auto* subgraph = std::get_if<std::shared_ptr<const Graph>>(&content);
      if (subgraph != nullptr) collect_domains(**subgraph, domains);
    }
  }
}

void append_opset(Message& model, std::string_view domain, int64_t version) {
  Message import;
  import.writer.bytes(1, domain);
  import.writer.integer(2, version);
  model.writer.bytes(8, import.bytes);
}

// The oldest that holds the opset: older engines read it too. 8 came with opset 15.
int64_t ir_version(int opset) { return opset <= 18 ? 8 : opset <= 20 ? 9 : 10; }

}  // namespace

std::string write_onnx(const Graph& graph, const std::map<std::string, std::string>& metadata, const DomainVersions& versions) {
  if (estimated_size(graph) > INT_MAX)
    throw Error(ErrorKind::internal, fmt::format("cannot write '{}': larger than ONNX's 2 GiB", graph.name));
  std::string content = graph_message(graph, true);
  Message model;
  model.writer.integer(1, ir_version(graph.opset));
  model.writer.bytes(2, "deepgap");
  append_opset(model, "", graph.opset);
  std::set<std::string> domains;
  collect_domains(graph, domains);
  for (const std::string& domain : domains) append_opset(model, domain, versions.contains(domain) ? versions.at(domain) : 1);
  for (const auto& [key, value] : metadata) {
    Message entry;
    entry.writer.bytes(1, key);
    entry.writer.bytes(2, value);
    model.writer.bytes(14, entry.bytes);
  }
  model.writer.header(7, content.size());
  if (model.bytes.size() + content.size() > INT_MAX)
    throw Error(ErrorKind::internal, fmt::format("cannot write '{}': larger than ONNX's 2 GiB", graph.name));
  // The graph's length had to be known first; it moves within its own memory.
  const size_t head = model.bytes.size(), length = content.size();
  content.resize(head + length);
  std::memmove(content.data() + head, content.data(), length);
  std::memcpy(content.data(), model.bytes.data(), head);
  return content;
}

void write_tensor_proto(const std::string& path, const Tensor& tensor, const std::string& name) {
  std::string message;
  append_tensor(message, 1, tensor, name);
  // The message begins without the key and the length of the field it was written as.
  WireReader reader(std::as_bytes(std::span(message)), nullptr);
  reader.next();
  const auto content = reader.bytes();
  write_file_atomic(path, {reinterpret_cast<const char*>(content.data()), content.size()});
}

}  // namespace deepgap
