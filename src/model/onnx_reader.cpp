#include "model/onnx_reader.h"

#include "base/confine.h"
#include "base/file_kind.h"
#include "base/folder_kind.h"
#include "base/words.h"

#include "model/checked.h"
#include "model/graph_tools.h"
#include "model/onnx_parts.h"
#include "model/opset_6.h"
#include "model/quantized_operators.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <climits>
#include <filesystem>
#include <new>

namespace deepgap {
namespace {

constexpr int first_opset = 6, last_opset = 28;
constexpr const char* too_large =
    "larger than 2 GiB, where protobuf ends; a larger network keeps its weights in a file beside it (external data)";

struct ModelParts {
  std::optional<std::span<const std::byte>> graph;
  std::optional<int64_t> opset;
  bool other_domains = false;
  std::vector<WireReader> functions;
  std::string other_kind;  // what a message without a graph is, where one of its fields shows it
};

// Core ML's kinds of networks are fields from 200 on; the second field of a SavedModel is a message, ONNX's a name.
std::string kind_shown_by(const WireReader& reader) {
  constexpr uint32_t first_of_core_ml = 200, last_of_core_ml = 3000;
  if (reader.field() >= first_of_core_ml && reader.field() <= last_of_core_ml)
    return "it is a Core ML model: give the network as its own framework exports it to ONNX";
  if (reader.field() != 2 || !reader.is_bytes()) return "";
  const auto content = reader.bytes();
  if (content.empty() || content.front() != std::byte{'\n'}) return "";
  return "it is the graph of a TensorFlow SavedModel: give the folder in which it lies as saved_model.pb";
}

void parse_opset_import(WireReader reader, ModelParts& parts) {
  std::string_view domain;
  int64_t version = 0;
  while (reader.next()) {
    if (reader.field() == 1) domain = reader.text();
    if (reader.field() == 2) version = reader.integer();
  }
  if (!domain.empty() && domain != "ai.onnx") {
    parts.other_domains = true;  // their operators are engines' own matter
    return;
  }
  if (parts.opset && *parts.opset != version) reader.fail("two opsets are given");
  if (version < first_opset || version > last_opset)
    throw Error(ErrorKind::input, fmt::format("opset {} is outside of {} to {}, convert it", version, first_opset, last_opset));
  parts.opset = version;
}

ModelParts parse_model_parts(WireReader reader) {
  ModelParts parts;
  while (reader.next()) {
    switch (reader.field()) {
      case 7:
        if (parts.graph) reader.fail("two graphs are given");
        parts.graph = reader.bytes();
        break;
      case 8:
        parse_opset_import(reader.message(), parts);
        break;
      case 20:
        throw Error(ErrorKind::input, "training information is not supported");
      case 25:
        parts.functions.push_back(reader.message());
        break;
      default:
        if (std::string kind = kind_shown_by(reader); !kind.empty()) parts.other_kind = std::move(kind);  // Core ML's comes last
        break;
    }
  }
  if (!parts.graph && !parts.other_kind.empty()) throw OtherFileKind(parts.other_kind);
  if (!parts.graph) throw Error(ErrorKind::input, "no ONNX model: it has no graph");
  if (!parts.opset && parts.other_domains) parts.opset = first_opset + 1;  // which says nothing: no operator is of ONNX's own
  if (!parts.opset) throw Error(ErrorKind::input, "no ONNX model: it names no opset");
  return parts;
}

// The first dimension of an input, where open, is the batch: its symbol becomes batch_symbol wherever the file uses it.
void name_batch(Graph& graph) {
  std::map<std::string, std::string> renamed;
  for (const ValueId id : graph.inputs) {
    const auto& dims = graph.values[id].dims;
    if (!dims || dims->empty() || dims->front().known()) continue;
    renamed.insert_or_assign(dims->front().symbol, batch_symbol);
  }
  // Another dimension that happens to be called like the batch is not the batch.
  if (renamed.count(batch_symbol) == 0) renamed[batch_symbol] = std::string(batch_symbol) + "_";
  for (Value& value : graph.values) {
    if (!value.dims) continue;
    for (Dim& dim : *value.dims) {
      if (const auto found = renamed.find(dim.symbol); found != renamed.end()) dim.symbol = found->second;
    }
  }
}

void check_inputs(const Graph& graph, const OnnxLimits& limits) {
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.values[id];
    if (!value.dims) continue;  // --shape or a dataset gives it
    Shape shape;
    for (const Dim& dim : *value.dims) shape.push_back(dim.size);
    if (!checked_elements(shape, limits.max_elements))
      throw Error(ErrorKind::input, fmt::format("input '{}' has more than {} elements", value.name, limits.max_elements));
  }
}

Graph parse_checked(std::span<const std::byte> bytes, const std::string& folder, const OnnxLimits& limits) {
  if (bytes.size() > INT_MAX) throw Error(ErrorKind::input, too_large);
  if (const std::string kind = not_onnx_kind(bytes); !kind.empty()) throw OtherFileKind("it " + kind);
  const WireReader reader(bytes, bytes.data());
  const ModelParts parts = parse_model_parts(reader);
  ReadState state{limits, ExternalData(folder)};
  state.opset = static_cast<int>(*parts.opset);
  for (const WireReader& function : parts.functions) state.functions.add(function);
  Graph graph = assemble_graph(parse_graph_parts(reader.part(*parts.graph), state, 0), state, false);
  check_inputs(graph, limits);
  name_batch(graph);
  if (graph.opset == 6) raise_opset_6(graph);
  expand_quantized_operators(graph);
  infer_shapes(graph);
  validate(graph);
  return graph;
}

// Everything that goes wrong with one file, as one line that begins with its path.
template <typename Work>
auto naming(const std::string& path, Work work) {
  const auto named = [&](const Error& error) { return printable(fmt::format("{}: {}", path, error.what())); };
  try {
    return work();
  } catch (const OtherFileKind& error) {
    throw OtherFileKind(named(error));
  } catch (const Error& error) {
    throw Error(error.kind(), named(error));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::input, fmt::format("{}: it needs {}", path, too_much_memory()));
  } catch (const std::length_error&) {
    throw Error(ErrorKind::input, fmt::format("{}: it needs {}", path, too_much_memory()));
  }
}

// This runs before the file is mapped: a pipe would block, a huge file would fill the memory.
MappedFile map_message(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(status)) throw Error(ErrorKind::input, printable(fmt::format("{}: it {}", path, folder_kind(path))));
  if (std::filesystem::exists(status) && std::filesystem::is_regular_file(status) && std::filesystem::file_size(path, error) > INT_MAX)
    throw Error(ErrorKind::input, fmt::format("{}: {}", path, too_large));
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw Error(ErrorKind::input, fmt::format("{}: it is not a regular file", path));
  return map_file(path);
}

}  // namespace

Graph parse_onnx(std::span<const std::byte> bytes, const std::string& name, const std::string& folder, const OnnxLimits& limits) {
  return naming(name, [&] { return parse_checked(bytes, folder, limits); });
}

Graph read_onnx(const std::string& path, const OnnxLimits& limits) {
  const MappedFile file = map_message(path);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  Graph graph = parse_onnx(file.bytes(), path, folder.empty() ? "." : folder, limits);
  if (graph.name.empty()) graph.name = std::filesystem::path(path).stem().string();
  return graph;
}

std::pair<std::string, Tensor> read_named_tensor_proto(const std::string& path) {
  const MappedFile file = map_message(path);
  return naming(path, [&] {
    ExternalData nowhere("");
    NamedTensor named = parse_tensor(WireReader(file.bytes(), file.data.get()), nowhere, {});
    return std::pair(std::string(named.name), std::move(named.tensor));
  });
}

Tensor read_tensor_proto(const std::string& path) { return read_named_tensor_proto(path).second; }

}  // namespace deepgap
