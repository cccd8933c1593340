#include "model/onnx_metadata.h"

#include "base/file.h"
#include "model/wire.h"

#include <fmt/format.h>

#include <set>

namespace deepgap {
namespace {

constexpr uint32_t opset_import = 8, metadata_props = 14;
constexpr size_t most_entries = 10'000;

std::string as_string(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace

std::map<std::string, std::string> onnx_metadata(std::span<const std::byte> bytes) {
  std::map<std::string, std::string> metadata;
  WireReader model(bytes, bytes.data());
  while (model.next() && metadata.size() < most_entries) {
    if (model.field() != metadata_props) continue;
    std::string key, value;
    WireReader entry = model.message();
    while (entry.next()) {
      if (entry.field() == 1) key = as_string(entry.bytes());
      if (entry.field() == 2) value = as_string(entry.bytes());
    }
    if (is_printable_utf8(key)) metadata.insert_or_assign(key, value);
  }
  return metadata;
}

std::map<std::string, std::string> read_onnx_metadata(const std::string& path) { return onnx_metadata(map_file(path).bytes()); }

DomainVersions onnx_domains(std::span<const std::byte> bytes) {
  DomainVersions versions;
  WireReader model(bytes, bytes.data());
  while (model.next() && versions.size() < most_entries) {
    if (model.field() != opset_import) continue;
    std::string domain;
    int64_t version = 0;
    WireReader entry = model.message();
    while (entry.next()) {
      if (entry.field() == 1) domain = as_string(entry.bytes());
      if (entry.field() == 2) version = entry.integer();
    }
    if (!domain.empty() && domain != "ai.onnx") versions.insert_or_assign(domain, version);
  }
  return versions;
}

DomainVersions read_onnx_domains(const std::string& path) { return onnx_domains(map_file(path).bytes()); }

namespace {

// ModelProto.graph, GraphProto.initializer and .input, TensorProto.name; what leads from a ValueInfoProto to its sizes.
constexpr uint32_t graph_field = 7, initializer_field = 5, input_field = 11, tensor_name = 8, value_name = 1, value_type = 2,
                   tensor_type = 1, type_shape = 2, shape_dim = 1, dim_value = 1;

void add_zero_sizes(WireReader value, std::map<std::string, std::vector<size_t>>& zeros) {
  std::string name;
  std::vector<size_t> found;
  size_t dimension = 0;
  while (value.next()) {
    if (value.field() == value_name) name = as_string(value.bytes());
    if (value.field() != value_type) continue;
    WireReader type = value.message();
    while (type.next()) {
      if (type.field() != tensor_type) continue;
      WireReader tensor = type.message();
      while (tensor.next()) {
        if (tensor.field() != type_shape) continue;
        WireReader shape = tensor.message();
        while (shape.next()) {
          if (shape.field() != shape_dim) continue;
          WireReader dim = shape.message();
          while (dim.next())
            if (dim.field() == dim_value && dim.integer() == 0) found.push_back(dimension);
          ++dimension;
        }
      }
    }
  }
  if (!found.empty() && zeros.size() < most_entries) zeros[name] = found;
}

}  // namespace

std::vector<std::string> onnx_zero_sizes(std::span<const std::byte> bytes) {
  std::map<std::string, std::vector<size_t>> zeros;  // by input
  std::set<std::string> constants;                   // which older files name among their inputs
  WireReader model(bytes, bytes.data());
  while (model.next()) {
    if (model.field() != graph_field) continue;
    WireReader graph = model.message();
    while (graph.next()) {
      if (graph.field() == input_field) add_zero_sizes(graph.message(), zeros);
      if (graph.field() != initializer_field) continue;
      WireReader tensor = graph.message();
      while (tensor.next())
        if (tensor.field() == tensor_name) constants.insert(as_string(tensor.bytes()));
    }
  }
  std::vector<std::string> words;
  for (const auto& [input, dimensions] : zeros)
    for (const size_t dimension : dimensions)
      if (!constants.contains(input)) words.push_back(fmt::format("input '{}', dimension {}", input, dimension));
  return words;
}

std::vector<std::string> read_onnx_zero_sizes(const std::string& path) { return onnx_zero_sizes(map_file(path).bytes()); }

}  // namespace deepgap
