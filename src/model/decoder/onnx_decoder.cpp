#include "model/decoder/onnx_decoder.h"

#include "base/file.h"
#include "base/parse_json.h"
#include "base/words.h"
#include "model/decoder/tokenizer_json.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace deepgap {
namespace {

using json = nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* onnx_decoder_op = "OnnxDecoder";
// No network that is used is near these.
constexpr int64_t most_context = int64_t{1} << 26, most_vocabulary = int64_t{1} << 22;

[[noreturn]] void refuse(const std::string& cause) {
  throw Error(ErrorKind::input,
              printable(fmt::format("task generate needs a decoder with past key values, as Optimum exports it: {}", cause)));
}

const Value* find_port(const Graph& graph, const std::vector<ValueId>& ids, const std::string& name) {
  const auto found = std::find_if(ids.begin(), ids.end(), [&](ValueId id) { return graph.values[static_cast<size_t>(id)].name == name; });
  return found == ids.end() ? nullptr : &graph.values[static_cast<size_t>(*found)];
}

std::string shape_text(const Value& value) {
  if (!value.dims) return "of no rank";
  std::vector<std::string> sizes;
  for (const Dim& dim : *value.dims) sizes.push_back(dim.known() ? fmt::format("{}", dim.size) : dim.symbol);
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

// A size that is known has to be that one.
bool takes(const Dim& dim, int64_t size) { return !dim.known() || dim.size == size; }

// Requires int64 [batch, tokens], both open, or a batch of 1.
void require_token_input(const Value& value) {
  if (value.type != DataType::i64) refuse(fmt::format("its input '{}' is {}, not int64", value.name, name_of(value.type)));
  if (!value.dims || value.dims->size() != 2 || !takes((*value.dims)[0], 1) || (*value.dims)[1].known())
    refuse(fmt::format("its input '{}' is {}, not [batch, sequence] with an open sequence", value.name, shape_text(value)));
}

// Requires one number, a scalar or [1].
Shape shape_of_one(const Value& value, DataType type) {
  const bool is_one = value.dims && (value.dims->empty() || (value.dims->size() == 1 && takes(value.dims->front(), 1)));
  if (value.type != type || !is_one)
    refuse(fmt::format("its input '{}' is {} {}, not one {}", value.name, name_of(value.type), shape_text(value), name_of(type)));
  return Shape(value.dims->size(), 1);
}

struct CacheName {
  int64_t layer = 0;
  bool is_value = false;
  auto operator<=>(const CacheName&) const = default;
};

// "past_key_values.3.key".
std::optional<CacheName> cache_name(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  CacheName found;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), found.layer);
  if (error != std::errc()) return std::nullopt;
  const std::string_view kind = name.substr(static_cast<size_t>(end - name.data()));
  if (kind != ".key" && kind != ".value") return std::nullopt;
  found.is_value = kind == ".value";
  return found;
}

bool is_float(DataType type) { return type == DataType::f32 || type == DataType::f16; }

CachePort cache_port(const Graph& graph, const Value& past, const std::string& present_name) {
  if (!is_float(past.type)) refuse(fmt::format("its input '{}' is {}, not float32 or float16", past.name, name_of(past.type)));
  if (!past.dims || past.dims->size() != 4 || !takes((*past.dims)[0], 1) || !(*past.dims)[1].known() || (*past.dims)[2].known() ||
      !(*past.dims)[3].known())
    refuse(fmt::format("its input '{}' is {}, not [batch, heads, past, size] with known heads and size", past.name, shape_text(past)));
  const Value* present = find_port(graph, graph.outputs, present_name);
  if (present == nullptr) refuse(fmt::format("it has no output '{}' for its input '{}'", present_name, past.name));
  CachePort port{past.name, present_name, (*past.dims)[1].size, (*past.dims)[3].size, past.type};
  if (present->type != past.type)
    refuse(fmt::format("its output '{}' is {}, its input '{}' {}", present_name, name_of(present->type), past.name, name_of(past.type)));
  if (present->dims && (present->dims->size() != 4 || !takes((*present->dims)[1], port.heads) || !takes((*present->dims)[3], port.size)))
    refuse(fmt::format("its output '{}' is {}, its input '{}' {}", present_name, shape_text(*present), past.name, shape_text(past)));
  return port;
}

void read_inputs(const Graph& graph, OnnxDecoder& decoder) {
  if (find_port(graph, graph.inputs, "input_ids") == nullptr) refuse("it has no input 'input_ids'");
  std::map<CacheName, CachePort> caches;
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.values[static_cast<size_t>(id)];
    if (const auto name = cache_name(value.name, "past_key_values.")) {
      caches[*name] = cache_port(graph, value, fmt::format("present.{}.{}", name->layer, name->is_value ? "value" : "key"));
      continue;
    }
    if (value.name == "num_logits_to_keep") {
      decoder.kept_scores = shape_of_one(value, DataType::i64);
      continue;
    }
    if (value.name == "use_cache_branch") {
      decoder.cache_branch = shape_of_one(value, DataType::boolean);
      continue;
    }
    const bool is_mask = value.name == "attention_mask", is_positions = value.name == "position_ids";
    if (!is_mask && !is_positions && value.name != "input_ids")
      refuse(
          fmt::format("its input '{}' is not one of input_ids, attention_mask, position_ids, num_logits_to_keep, use_cache_branch, "
                      "past_key_values.N.key and .value",
                      value.name));
    require_token_input(value);
    decoder.has_mask |= is_mask;
    decoder.has_positions |= is_positions;
  }
  if (caches.empty()) refuse("it has no input 'past_key_values.0.key'");
  for (const ValueId id : graph.outputs) {
    const std::string& name = graph.values[static_cast<size_t>(id)].name;
    const auto present = cache_name(name, "present.");
    if (present && !caches.contains(*present)) refuse(fmt::format("its output '{}' has no input of past keys or values", name));
  }
  for (auto& [name, port] : caches) decoder.caches.push_back(std::move(port));
}

// `otherwise`: the size of the vocabulary where the file leaves it open; 0: not known.
void read_scores(const Graph& graph, int64_t otherwise, OnnxDecoder& decoder) {
  const Value* logits = find_port(graph, graph.outputs, "logits");
  if (logits == nullptr) refuse("it has no output 'logits'");
  if (!is_float(logits->type)) refuse(fmt::format("its output 'logits' is {}, not float32 or float16", name_of(logits->type)));
  if (logits->dims && logits->dims->size() != 3)
    refuse(fmt::format("its output 'logits' is {}, not [batch, sequence, vocabulary]", shape_text(*logits)));
  decoder.score_type = logits->type;
  decoder.vocabulary = logits->dims && logits->dims->back().known() ? logits->dims->back().size : otherwise;
  if (decoder.vocabulary < 1 || decoder.vocabulary > most_vocabulary)
    refuse("neither its output 'logits' nor vocab_size of config.json says how many tokens there are");
}

// The object in a file of the model's folder; empty where there is none. Throws Error{input} where there is something else.
json beside(const std::string& path, const std::string& name) {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code error;
  for (const fs::path& place : {folder, folder.filename() == "onnx" ? folder.parent_path() : folder}) {
    const std::string file = (place / name).string();
    if (!fs::is_regular_file(file, error)) continue;
    json content = parse_json(read_text(file));
    if (!content.is_object()) throw Error(ErrorKind::input, printable(fmt::format("{}, beside it, is not a JSON object", file)));
    return content;
  }
  return json::object();
}

int64_t first_number(const json& object, std::initializer_list<const char*> names, int64_t least, int64_t most, int64_t otherwise) {
  for (const char* name : names) {
    const auto found = object.find(name);
    if (found == object.end()) continue;
    const json& value = found->is_array() && !found->empty() ? found->front() : *found;
    if (value.is_number_integer() && value.get<int64_t>() >= least && value.get<int64_t>() <= most) return value.get<int64_t>();
  }
  return otherwise;
}

}  // namespace

int64_t OnnxDecoder::cache_bytes_per_token() const {
  int64_t bytes = 0;
  for (const CachePort& port : caches) bytes += port.heads * port.size * static_cast<int64_t>(byte_size(port.type));
  return bytes;
}

Graph onnx_decoder_graph(Graph file, const std::string& path) {
  const json config = beside(path, "config.json");
  const int64_t vocabulary = first_number(config, {"vocab_size"}, 1, most_vocabulary, 0);
  OnnxDecoder decoder;
  read_inputs(file, decoder);
  read_scores(file, vocabulary, decoder);
  decoder.context = first_number(config, {"max_position_embeddings", "n_positions", "n_ctx"}, 1, most_context, most_context);
  if (const json tokenizer = beside(path, "tokenizer.json"); !tokenizer.empty())
    decoder.tokenizer = tokenizer_of_json(tokenizer, beside(path, "tokenizer_config.json"), decoder.vocabulary);
  decoder.tokenizer.end = first_number(config, {"eos_token_id"}, 0, decoder.vocabulary - 1, -1);
  Graph graph = prompt_graph(file.name, onnx_decoder_op);
  auto& attributes = graph.nodes.front().attributes;
  attributes["context"] = decoder.context;
  attributes["vocabulary"] = decoder.vocabulary;
  keep_tokenizer(decoder.tokenizer, attributes);
  attributes["body"] = std::make_shared<const Graph>(std::move(file));
  return graph;
}

const Graph* onnx_decoder_body(const Graph& graph) {
  if (graph.nodes.size() != 1 || graph.nodes[0].op != onnx_decoder_op || graph.nodes[0].domain != decoder_domain) return nullptr;
  const auto found = graph.nodes[0].attributes.find("body");
  const auto* body = found == graph.nodes[0].attributes.end() ? nullptr : std::get_if<std::shared_ptr<const Graph>>(&found->second);
  return body == nullptr ? nullptr : body->get();
}

bool is_onnx_decoder(const GraphSummary& summary) {
  return std::any_of(summary.operators.begin(), summary.operators.end(),
                     [](const OperatorUse& use) { return use.op == onnx_decoder_op && use.domain == decoder_domain; });
}

OnnxDecoder onnx_decoder_of(const Graph& graph) {
  const Graph* body = onnx_decoder_body(graph);
  if (body == nullptr) throw Error(ErrorKind::internal, fmt::format("'{}' is not an ONNX decoder", graph.name));
  const Node& node = graph.nodes[0];
  OnnxDecoder decoder;
  read_inputs(*body, decoder);
  read_scores(*body, std::get<int64_t>(node.attributes.at("vocabulary")), decoder);
  decoder.context = std::get<int64_t>(node.attributes.at("context"));
  decoder.tokenizer = kept_tokenizer(node);
  return decoder;
}

}  // namespace deepgap
