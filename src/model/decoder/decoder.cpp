#include "model/decoder/decoder.h"

#include <deepgap/error.h>
#include <deepgap/generate.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace deepgap {
namespace {

constexpr std::array<DecoderStyle, 4> styles{{
    {.architecture = "llama", .gated = true},
    {.architecture = "qwen2", .rotates_halves = true, .gated = true, .qkv_bias = true},
    {.architecture = "qwen3", .rotates_halves = true, .gated = true, .normalizes_heads = true},
    {.architecture = "gpt2", .layer_norm = true, .learned_positions = true, .joined_qkv = true, .bias = true},
}};

// The integer fields of DecoderShape, by the attribute that keeps each.
struct ShapeField {
  const char* name;
  int64_t DecoderShape::*field;
};
constexpr std::array<ShapeField, 9> shape_fields{{{"layers", &DecoderShape::layers},
                                                  {"embedding", &DecoderShape::embedding},
                                                  {"feed_forward", &DecoderShape::feed_forward},
                                                  {"heads", &DecoderShape::heads},
                                                  {"kv_heads", &DecoderShape::kv_heads},
                                                  {"head_size", &DecoderShape::head_size},
                                                  {"rope_size", &DecoderShape::rope_size},
                                                  {"context", &DecoderShape::context},
                                                  {"vocabulary", &DecoderShape::vocabulary}}};

class Specs {
 public:
  void matrix(const std::string& name, int64_t rows, int64_t columns, bool optional = false) {
    all.push_back({name, rows, columns, false, optional});
  }
  void vector(const std::string& name, int64_t size, bool optional = false) { all.push_back({name, 1, size, true, optional}); }
  void linear(const std::string& name, int64_t rows, int64_t columns, bool bias) {
    matrix(name + ".weight", rows, columns);
    if (bias) vector(name + ".bias", rows);
  }
  void norm(const std::string& name, int64_t size, bool bias) {
    vector(name + ".weight", size);
    if (bias) vector(name + ".bias", size);
  }

  std::vector<DecoderWeightSpec> all;
};

void add_layer(Specs& specs, const DecoderShape& shape, const DecoderStyle& style, const std::string& layer) {
  const int64_t queries = shape.heads * shape.head_size, keys = shape.kv_heads * shape.head_size;
  const bool bias = style.bias || style.qkv_bias;
  specs.norm(layer + "attn_norm", shape.embedding, style.layer_norm);
  if (style.joined_qkv) {
    specs.linear(layer + "attn_qkv", queries + 2 * keys, shape.embedding, bias);
  } else {
    specs.linear(layer + "attn_q", queries, shape.embedding, bias);
    specs.linear(layer + "attn_k", keys, shape.embedding, bias);
    specs.linear(layer + "attn_v", keys, shape.embedding, bias);
  }
  if (style.normalizes_heads) {
    specs.vector(layer + "attn_q_norm.weight", shape.head_size);
    specs.vector(layer + "attn_k_norm.weight", shape.head_size);
  }
  specs.linear(layer + "attn_output", shape.embedding, queries, style.bias);
  specs.norm(layer + "ffn_norm", shape.embedding, style.layer_norm);
  if (style.gated) specs.linear(layer + "ffn_gate", shape.feed_forward, shape.embedding, style.bias);
  specs.linear(layer + "ffn_up", shape.feed_forward, shape.embedding, style.bias);
  specs.linear(layer + "ffn_down", shape.embedding, shape.feed_forward, style.bias);
}

Tensor real(double value) {
  Tensor tensor = make_tensor(DataType::f64, {1});
  writable<double>(tensor)[0] = value;
  return tensor;
}

template <typename T>
const T& attribute(const Node& node, const std::string& name) {
  const auto found = node.attributes.find(name);
  const T* value = found == node.attributes.end() ? nullptr : std::get_if<T>(&found->second);
  if (value == nullptr) throw Error(ErrorKind::internal, fmt::format("decoder '{}' lacks its attribute {}", node.name, name));
  return *value;
}

// Where the weights begin among the node's inputs: after the prompt and its request.
constexpr size_t first_weight = 2;

}  // namespace

const DecoderStyle* find_decoder_style(const std::string& architecture) {
  const auto* found = std::find_if(styles.begin(), styles.end(), [&](const DecoderStyle& one) { return one.architecture == architecture; });
  return found == styles.end() ? nullptr : found;
}

std::vector<std::string> decoder_architectures() {
  std::vector<std::string> names;
  for (const DecoderStyle& style : styles) names.emplace_back(style.architecture);
  return names;
}

std::vector<DecoderWeightSpec> decoder_weights(const DecoderShape& shape) {
  const DecoderStyle* style = find_decoder_style(shape.architecture);
  if (style == nullptr) throw Error(ErrorKind::internal, fmt::format("unknown architecture {}", shape.architecture));
  Specs specs;
  specs.matrix("token_embd.weight", shape.vocabulary, shape.embedding);
  if (style->learned_positions) specs.matrix("position_embd.weight", shape.context, shape.embedding);
  for (int64_t i = 0; i < shape.layers; ++i) add_layer(specs, shape, *style, fmt::format("blk.{}.", i));
  specs.norm("output_norm", shape.embedding, style->layer_norm);
  specs.matrix("output.weight", shape.vocabulary, shape.embedding, true);  // else the embeddings serve for it
  if (!style->learned_positions) specs.vector("rope_freqs.weight", shape.rope_size / 2, true);
  return specs.all;
}

const DecoderWeight* DecoderModel::find_weight(const std::string& name) const {
  const auto found = weights.find(name);
  return found == weights.end() ? nullptr : &found->second;
}

const DecoderWeight& DecoderModel::weight(const std::string& name) const {
  if (const DecoderWeight* found = find_weight(name)) return *found;
  throw Error(ErrorKind::internal, fmt::format("the decoder has no weight '{}'", name));
}

void keep_tokenizer(const TokenizerData& tokenizer, std::map<std::string, Attribute>& attributes) {
  attributes["tokenizer.model"] = tokenizer.model;
  attributes["tokenizer.split"] = tokenizer.split;
  attributes["tokenizer.tokens"] = tokenizer.tokens;
  attributes["tokenizer.kinds"] = tokenizer.kinds;
  attributes["tokenizer.merges"] = tokenizer.merges;
  attributes["tokenizer.scores"] = std::vector<float>(tokenizer.scores.begin(), tokenizer.scores.end());
  attributes["tokenizer.begin"] = tokenizer.begin;
  attributes["tokenizer.end"] = tokenizer.end;
  attributes["tokenizer.adds_begin"] = int64_t{tokenizer.adds_begin};
  attributes["tokenizer.chat_template"] = tokenizer.chat_template;
}

TokenizerData kept_tokenizer(const Node& node) {
  TokenizerData tokenizer;
  tokenizer.model = attribute<std::string>(node, "tokenizer.model");
  tokenizer.split = attribute<std::string>(node, "tokenizer.split");
  tokenizer.tokens = attribute<std::vector<std::string>>(node, "tokenizer.tokens");
  tokenizer.kinds = attribute<std::vector<int64_t>>(node, "tokenizer.kinds");
  tokenizer.merges = attribute<std::vector<std::string>>(node, "tokenizer.merges");
  const auto& scores = attribute<std::vector<float>>(node, "tokenizer.scores");
  tokenizer.scores.assign(scores.begin(), scores.end());
  tokenizer.begin = attribute<int64_t>(node, "tokenizer.begin");
  tokenizer.end = attribute<int64_t>(node, "tokenizer.end");
  tokenizer.adds_begin = attribute<int64_t>(node, "tokenizer.adds_begin") != 0;
  tokenizer.chat_template = attribute<std::string>(node, "tokenizer.chat_template");
  return tokenizer;
}

Graph prompt_graph(const std::string& name, const std::string& op) {
  constexpr int64_t usual_prompt_bytes = 4096;
  Graph graph;
  graph.name = name;
  const Dim batch{1, batch_symbol};
  graph.values = {{"prompt", DataType::u8, Dims{batch, {usual_prompt_bytes, ""}}},
                  {"request", DataType::i64, Dims{batch, {static_cast<int64_t>(prompt_fields), ""}}},
                  {"tokens", DataType::i64, Dims{batch}}};
  graph.inputs = {0, 1};
  graph.outputs = {2};
  graph.nodes = {{name, op, decoder_domain, {0, 1}, {2}, {}}};
  return graph;
}

Graph decoder_graph(const std::string& name, const DecoderModel& model) {
  Graph graph = prompt_graph(name, decoder_op);
  Node& node = graph.nodes.front();
  std::vector<std::string> types;
  std::vector<int64_t> columns;
  for (const auto& [weight_name, weight] : model.weights) {
    Dims dims;
    for (const int64_t size : weight.data.shape) dims.push_back({size, ""});
    const auto id = static_cast<ValueId>(graph.values.size());
    graph.values.push_back({weight_name, weight.data.type, dims});
    graph.constants[id] = weight.data;
    node.inputs.push_back(id);
    types.emplace_back(format_of(weight.type).name);
    columns.push_back(weight.columns);
  }
  node.attributes["architecture"] = model.shape.architecture;
  for (const ShapeField& field : shape_fields) node.attributes[field.name] = model.shape.*field.field;
  node.attributes["norm_epsilon"] = real(model.shape.norm_epsilon);
  node.attributes["rope_base"] = real(model.shape.rope_base);
  node.attributes["types"] = types;
  node.attributes["columns"] = columns;
  node.attributes["stored_as"] = std::string(format_of(model.stored_as).name);
  keep_tokenizer(model.tokenizer, node.attributes);
  return graph;
}

bool is_decoder(const Graph& graph) {
  return graph.nodes.size() == 1 && graph.nodes[0].op == decoder_op && graph.nodes[0].domain == decoder_domain;
}

bool is_decoder(const GraphSummary& summary) {
  return std::any_of(summary.operators.begin(), summary.operators.end(),
                     [](const OperatorUse& use) { return use.op == decoder_op && use.domain == decoder_domain; });
}

DecoderModel decoder_of(const Graph& graph) {
  if (!is_decoder(graph)) throw Error(ErrorKind::internal, fmt::format("'{}' is not a decoder", graph.name));
  const Node& node = graph.nodes[0];
  DecoderModel model;
  model.shape.architecture = attribute<std::string>(node, "architecture");
  for (const ShapeField& field : shape_fields) model.shape.*field.field = attribute<int64_t>(node, field.name);
  model.shape.norm_epsilon = attribute<Tensor>(node, "norm_epsilon").as<double>()[0];
  model.shape.rope_base = attribute<Tensor>(node, "rope_base").as<double>()[0];
  const WeightFormat* stored = find_weight_format(attribute<std::string>(node, "stored_as"));
  if (stored != nullptr) model.stored_as = stored->type;
  const auto& types = attribute<std::vector<std::string>>(node, "types");
  const auto& columns = attribute<std::vector<int64_t>>(node, "columns");
  for (size_t i = first_weight; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    const Tensor& data = graph.constants.at(id);
    const WeightFormat* format = find_weight_format(types.at(i - first_weight));
    if (format == nullptr) throw Error(ErrorKind::internal, fmt::format("decoder '{}' has a weight of an unknown type", node.name));
    const int64_t rows = data.shape.size() > 1 ? data.shape[0] : 1;
    model.weights[graph.values[static_cast<size_t>(id)].name] = {format->type, rows, columns.at(i - first_weight), data};
  }
  model.tokenizer = kept_tokenizer(node);
  return model;
}

int64_t kv_bytes_per_token(const DecoderShape& shape) {
  constexpr int64_t bytes = 2, keys_and_values = 2;
  return shape.layers * shape.kv_heads * shape.head_size * keys_and_values * bytes;
}

}  // namespace deepgap
