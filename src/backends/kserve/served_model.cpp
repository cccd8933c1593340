#include "backends/kserve/served_model.h"

#include "base/parse_json.h"
#include "base/text.h"
#include "base/words.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

namespace deepgap {
namespace {

using json = nlohmann::json;

constexpr size_t most_tensors = 256, most_dims = 16;
constexpr int64_t most_size = int64_t{1} << 31, no_size = -2;

constexpr std::array<std::pair<std::string_view, DataType>, 13> datatypes{{{"FP32", DataType::f32},
                                                                           {"FP64", DataType::f64},
                                                                           {"FP16", DataType::f16},
                                                                           {"BF16", DataType::bf16},
                                                                           {"INT8", DataType::i8},
                                                                           {"INT16", DataType::i16},
                                                                           {"INT32", DataType::i32},
                                                                           {"INT64", DataType::i64},
                                                                           {"UINT8", DataType::u8},
                                                                           {"UINT16", DataType::u16},
                                                                           {"UINT32", DataType::u32},
                                                                           {"UINT64", DataType::u64},
                                                                           {"BOOL", DataType::boolean}}};

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::refused, why); }

std::string text_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? printable(found->get<std::string>()) : "";
}

ServedTensor read_tensor(const json& tensor, const std::string& model) {
  if (!tensor.is_object()) refuse(fmt::format("the metadata of {} are not KServe v2: a tensor is not an object", model));
  const auto shape = tensor.find("shape");
  if (shape == tensor.end() || !shape->is_array()) return served_tensor("", text_in(tensor, "datatype"), {}, model);
  std::vector<int64_t> dims;
  for (const json& size : *shape) dims.push_back(size.is_number_integer() ? size.get<int64_t>() : no_size);
  return served_tensor(text_in(tensor, "name"), text_in(tensor, "datatype"), dims, model);
}

std::vector<ServedTensor> read_tensors(const json& metadata, const char* key, const std::string& model) {
  const auto found = metadata.find(key);
  require_tensors(found != metadata.end() && found->is_array() ? found->size() : 0, key, model);
  std::vector<ServedTensor> tensors;
  for (const json& tensor : *found) tensors.push_back(read_tensor(tensor, model));
  return tensors;
}

json parsed(std::string_view text, const std::string& what) {
  json read = parse_json(text);
  if (text.empty()) refuse(fmt::format("not a KServe v2 server: {} is empty", what));
  if (!read.is_object()) refuse(fmt::format("{} is not JSON of KServe v2: {}", what, printable(std::string(text.substr(0, 60)))));
  return read;
}

ValueId add_value(Graph& graph, const ServedTensor& tensor) {
  Value value{tensor.name, tensor.type, Dims()};
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    const bool open = tensor.dims[i] < 0;
    const std::string symbol = i == 0 ? batch_symbol : fmt::format("{}.{}", tensor.name, i);
    value.dims->push_back(open ? Dim{1, symbol} : Dim{tensor.dims[i], ""});
  }
  graph.values.push_back(std::move(value));
  return static_cast<ValueId>(graph.values.size() - 1);
}

}  // namespace

ModelName model_name(const std::string& text) {
  const size_t colon = text.rfind(':');
  ModelName name{text.substr(0, colon), colon == std::string::npos ? "" : text.substr(colon + 1)};
  const auto plain = [](const std::string& part) {
    constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-~";
    return !part.empty() && part.find_first_not_of(allowed) == std::string::npos && part.find_first_not_of('.') != std::string::npos;
  };
  if (!plain(name.name) || (colon != std::string::npos && !plain(name.version)))
    throw Error(ErrorKind::usage, fmt::format("'{}' names no model on a server: write NAME or NAME:VERSION", printable(text)));
  return name;
}

bool is_datatype(std::string_view name) {
  return name == "BYTES" || std::any_of(datatypes.begin(), datatypes.end(), [&](const auto& row) { return row.first == name; });
}

DataType datatype_from(std::string_view name) {
  const auto found = std::find_if(datatypes.begin(), datatypes.end(), [&](const auto& row) { return row.first == name; });
  if (found == datatypes.end()) refuse(fmt::format("tensors of datatype '{}' are not measured: numbers are", printable(std::string(name))));
  return found->second;
}

std::string_view datatype_name(DataType type) {
  return std::find_if(datatypes.begin(), datatypes.end(), [&](const auto& row) { return row.second == type; })->first;
}

ServedTensor served_tensor(const std::string& name, const std::string& datatype, const std::vector<int64_t>& dims,
                           const std::string& model) {
  if (datatype == "BYTES")
    refuse(
        fmt::format("tensors of datatype 'BYTES' cannot be measured: elements of '{}' of {} are texts or files of any length, but samples "
                    "and outputs are numbers of one size. For an ensemble, name the model that takes and gives numbers",
                    printable(name), model));
  ServedTensor tensor{printable(name), datatype_from(datatype), dims};
  if (name.empty() || dims.size() > most_dims)
    refuse(fmt::format("the metadata of {} are not KServe v2: a tensor has no name or shape", model));
  const auto is_none = [](int64_t size) { return size < -1 || size > most_size; };
  if (std::any_of(dims.begin(), dims.end(), is_none))
    refuse(fmt::format("the metadata of {}: '{}' has an invalid size", model, tensor.name));
  return tensor;
}

void require_tensors(size_t count, const char* which, const std::string& model) {
  if (count == 0) refuse(fmt::format("the server does not report the {} of {}: its metadata lists none", which, model));
  if (count > most_tensors)
    refuse(fmt::format("the metadata of {} lists {} {}; deepgap accepts at most {}", model, count, which, most_tensors));
}

namespace {

void require_each_once(const std::vector<ServedTensor>& tensors, const char* which, const std::string& model) {
  std::set<std::string_view> names;
  for (const ServedTensor& tensor : tensors)
    if (!names.insert(tensor.name).second) refuse(fmt::format("the metadata of {} list {} '{}' twice", model, which, tensor.name));
}

}  // namespace

Graph graph_of(const ServedModel& model) {
  require_each_once(model.inputs, "input", model.name.name);
  require_each_once(model.outputs, "output", model.name.name);
  Graph graph;
  graph.name = model.name.name;
  Node node{model.name.name, "Model", "kserve", {}, {}, {}};
  for (const ServedTensor& tensor : model.inputs) node.inputs.push_back(add_value(graph, tensor));
  for (const ServedTensor& tensor : model.outputs) {
    // Which values of a Graph may not be.
    const auto same = [&](const ServedTensor& input) { return input.name == tensor.name; };
    if (std::any_of(model.inputs.begin(), model.inputs.end(), same))
      refuse(fmt::format("{} calls an input and an output '{}'", model.name.name, tensor.name));
    node.outputs.push_back(add_value(graph, tensor));
  }
  graph.inputs = node.inputs;
  graph.outputs = node.outputs;
  graph.nodes.push_back(std::move(node));
  return graph;
}

void read_server(std::string_view text, ServedModel& model) {
  const json server = parsed(text, "the answer to /v2");
  const std::string name = text_in(server, "name"), version = text_in(server, "version");
  if (name.empty()) refuse("not a KServe v2 server: the answer to /v2 has no name");
  model.server = version.empty() ? name : name + " " + version;
  const auto extensions = server.find("extensions");
  if (extensions == server.end() || !extensions->is_array()) return;
  for (const json& extension : *extensions) {
    if (!extension.is_string()) continue;
    const std::string called = extension.get<std::string>();
    model.binary |= called == "binary_tensor_data";
    model.has_statistics |= called == "statistics";
  }
}

void read_model(std::string_view text, ServedModel& model) {
  const json metadata = parsed(text, fmt::format("the metadata of {}", model.name.name));
  model.inputs = read_tensors(metadata, "inputs", model.name.name);
  model.outputs = read_tensors(metadata, "outputs", model.name.name);
}

void read_config(std::string_view text, ServedModel& model) {
  const json config = parse_json(text);
  if (!config.is_object()) return;
  const auto found = config.find("max_batch_size");
  if (found != config.end() && found->is_number_integer() && found->get<int64_t>() >= 0) model.max_batch = found->get<int64_t>();
}

std::string model_path(const ModelName& name) {
  return name.version.empty() ? "/v2/models/" + name.name : fmt::format("/v2/models/{}/versions/{}", name.name, name.version);
}

}  // namespace deepgap
