#include "model/saved_model.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/words.h"
#include "model/wire.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

constexpr const char* graph_file = "saved_model.pb";

// Field numbers of TensorFlow's saved_model.proto, meta_graph.proto and tensor_shape.proto.
namespace field {
constexpr uint32_t meta_graphs = 2, meta_info = 1, tags = 4, signatures = 5, key = 1, value = 2, inputs = 1, outputs = 2, tensor_name = 1,
                   tensor_type = 2, tensor_shape = 3, dims = 2, unknown_rank = 3, dim_size = 1;
}

// Calls `function` with key and value of each entry of the map that is this field.
template <typename Function>
void each_entry(WireReader message, uint32_t of, Function function) {
  while (message.next()) {
    if (message.field() != of) continue;
    WireReader entry = message.message();
    std::string key;
    while (entry.next()) {
      if (entry.field() == field::key) key = entry.text();
      if (entry.field() == field::value) function(key, entry.message());
    }
  }
}

std::optional<Shape> shape_of(WireReader message) {
  Shape shape;
  while (message.next()) {
    if (message.field() == field::unknown_rank && message.integer() != 0) return std::nullopt;
    if (message.field() != field::dims) continue;
    WireReader dim = message.message();
    shape.push_back(0);
    while (dim.next())
      if (dim.field() == field::dim_size) shape.back() = dim.integer();
  }
  return shape;
}

SignaturePort port_of(WireReader message) {
  SignaturePort port;
  while (message.next()) {
    if (message.field() == field::tensor_name) port.tensor = message.text();
    if (message.field() == field::tensor_type) port.type = message.integer();
    if (message.field() == field::tensor_shape) port.shape = shape_of(message.message());
  }
  return port;
}

// The numbers of TensorFlow's types that deepgap has, too.
constexpr std::array<std::pair<int64_t, DataType>, 13> types{{{1, DataType::f32},
                                                              {2, DataType::f64},
                                                              {3, DataType::i32},
                                                              {4, DataType::u8},
                                                              {5, DataType::i16},
                                                              {6, DataType::i8},
                                                              {9, DataType::i64},
                                                              {10, DataType::boolean},
                                                              {14, DataType::bf16},
                                                              {17, DataType::u16},
                                                              {19, DataType::f16},
                                                              {22, DataType::u32},
                                                              {23, DataType::u64}}};

bool serves(WireReader meta_graph) {
  while (meta_graph.next()) {
    if (meta_graph.field() != field::meta_info) continue;
    WireReader info = meta_graph.message();
    while (info.next())
      if (info.field() == field::tags && info.text() == "serve") return true;
  }
  return false;
}

// Reads the signatures of the graph with the tag `serve`.
std::map<std::string, Signature> signatures_in(const std::string& path, const MappedFile& file) {
  const auto bytes = file.bytes();
  WireReader message(bytes, bytes.data());
  while (message.next()) {
    if (message.field() != field::meta_graphs) continue;
    if (serves(message.message())) return read_signatures(message.bytes());
  }
  throw Error(ErrorKind::input, fmt::format("{}: it is not a SavedModel with the tag 'serve'", path));
}

// Hashes the graph and the names and sizes of all files. Weights may be large, so only their index is hashed whole.
std::string hash_of(const fs::path& folder) {
  Hasher hasher;
  std::vector<std::pair<std::string, fs::path>> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.emplace_back(entry.path().lexically_relative(folder).string(), entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& [name, path] : files) {
    hasher.add(name);
    hasher.add_value(static_cast<uint64_t>(fs::file_size(path)));
    if (path.extension() == ".pb" || path.extension() == ".index") hasher.add(map_file(path.string()).bytes());
  }
  return hasher.digest();
}

class Ports {
 public:
  Ports(Graph& graph, std::string where) : graph_(graph), where_(std::move(where)) {}

  std::vector<ValueId> add(const std::map<std::string, SignaturePort>& ports, const char* what) {
    std::vector<ValueId> ids;
    for (const auto& [name, port] : ports) {
      const auto* const type =
          std::find_if(types.begin(), types.end(), [wanted = port.type](const auto& one) { return one.first == wanted; });
      if (type == types.end())
        throw Error(ErrorKind::refused, fmt::format("{}: {} '{}' is of a type that deepgap does not have (TensorFlow's number {})", where_,
                                                    what, printable(name), port.type));
      // One name may be an input and an output; here a value has one.
      const bool taken =
          std::any_of(graph_.values.begin(), graph_.values.end(), [&own = name](const Value& value) { return value.name == own; });
      graph_.values.push_back({taken ? name + ".out" : name, type->second, dims_of(port, name, what)});
      ids.push_back(static_cast<ValueId>(graph_.values.size() - 1));
    }
    return ids;
  }

 private:
  // An open first size is the batch, as saved models have it; others stay open by their place.
  std::optional<Dims> dims_of(const SignaturePort& port, const std::string& name, const char* what) const {
    if (!port.shape) return std::nullopt;
    Dims dims;
    for (size_t i = 0; i < port.shape->size(); ++i) {
      const int64_t size = (*port.shape)[i];
      if (size < -1) throw Error(ErrorKind::input, fmt::format("{}: {} '{}' has a size of {}", where_, what, printable(name), size));
      dims.push_back(size >= 0 ? Dim{size, ""} : Dim{1, i == 0 ? batch_symbol : fmt::format("{}_{}", name, i)});
    }
    return dims;
  }

  Graph& graph_;
  std::string where_;
};

std::string names_of(const std::map<std::string, Signature>& signatures) {
  std::vector<std::string> names;
  for (const auto& [name, signature] : signatures)
    if (name != "__saved_model_init_op") names.push_back(name);
  return join(names, ", ");
}

// Throws Error{usage} naming those that there are.
std::string chosen(const SavedModelName& named, const std::map<std::string, Signature>& signatures) {
  std::string wanted = named.signature.empty() ? usual_signature : named.signature;
  if (signatures.contains(wanted)) return wanted;
  std::string known = names_of(signatures);
  if (known.empty()) throw Error(ErrorKind::usage, fmt::format("{}: it has no signatures, so it cannot be run", named.folder));
  if (named.signature.empty() && known.find(',') == std::string::npos) return known;
  throw Error(ErrorKind::usage, printable(fmt::format("{}: it has no signature '{}', only {}: choose one as {}:signature=NAME",
                                                      named.folder, wanted, known, named.folder)));
}

}  // namespace

std::map<std::string, Signature> read_signatures(std::span<const std::byte> meta_graph) {
  std::map<std::string, Signature> signatures;
  each_entry(WireReader(meta_graph, meta_graph.data()), field::signatures, [&](const std::string& name, WireReader body) {
    Signature& signature = signatures[name];
    each_entry(body, field::inputs, [&](const std::string& key, WireReader port) { signature.inputs[key] = port_of(port); });
    each_entry(body, field::outputs, [&](const std::string& key, WireReader port) { signature.outputs[key] = port_of(port); });
  });
  return signatures;
}

std::optional<SavedModelName> saved_model_named(const std::string& model) {
  constexpr std::string_view option = ":signature=";
  const size_t at = model.rfind(option);
  const SavedModelName named{model.substr(0, at), at == std::string::npos ? "" : model.substr(at + option.size())};
  std::error_code error;
  if (!fs::is_regular_file(fs::path(named.folder) / graph_file, error)) return std::nullopt;
  return named;
}

Graph saved_model_graph(const SavedModelName& named) {
  const std::string path = (fs::path(named.folder) / graph_file).string();
  std::map<std::string, Signature> signatures;
  try {
    signatures = signatures_in(path, map_file(path));
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with(path)) throw;
    throw Error(ErrorKind::input, printable(fmt::format("{}: it is not a SavedModel: {}", path, error.what())));
  }
  const std::string name = chosen(named, signatures);
  Graph graph;
  graph.name = named.folder;
  Ports ports(graph, named.folder);
  Node node{"saved_model", saved_model_op, saved_model_domain, {}, {}, {}};
  node.inputs = graph.inputs = ports.add(signatures.at(name).inputs, "input");
  node.outputs = graph.outputs = ports.add(signatures.at(name).outputs, "output");
  if (node.outputs.empty()) throw Error(ErrorKind::input, printable(fmt::format("{}: signature '{}' has no outputs", named.folder, name)));
  node.attributes = {{"folder", fs::absolute(named.folder).string()}, {"signature", name}, {"content", hash_of(named.folder)}};
  graph.nodes.push_back(std::move(node));
  return graph;
}

}  // namespace deepgap
