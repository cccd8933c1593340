// A decoder: a language model that generates token after token, as Llama, SmolLM2, Qwen2 and GPT-2 do. As a Model it is a Graph of one
// node, deepgap.Decoder, which takes prompts (deepgap/generate.h) and whose further inputs are its weights. Its layers are not nodes: they
// run once for each token, with a cache that grows, which a Graph of ONNX operators has no place for. Weights may be quantized, so that an
// engine computes with what the file has.
#pragma once

#include "model/gguf/weight_type.h"

#include <deepgap/graph.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace deepgap {

inline constexpr const char* decoder_domain = "deepgap";
inline constexpr const char* decoder_op = "Decoder";

struct DecoderShape {
  std::string architecture;  // "llama" (also SmolLM2, Mistral), "qwen2", "qwen3", "gpt2"
  int64_t layers = 0;
  int64_t embedding = 0;     // numbers that stand for a token between layers
  int64_t feed_forward = 0;  // numbers within a layer's second half
  int64_t heads = 0, kv_heads = 0, head_size = 0;
  int64_t rope_size = 0;  // numbers of a head that are rotated by the position
  int64_t context = 0;    // tokens at most
  int64_t vocabulary = 0;
  double norm_epsilon = 1e-5, rope_base = 10000;
};

// The features of an architecture, beside its sizes.
struct DecoderStyle {
  const char* architecture = nullptr;
  bool layer_norm = false;      // mean and deviation, with a bias; else RMSNorm
  bool rotates_halves = false;  // RoPE turns number i with i + size / 2; else with its neighbour
  bool learned_positions = false;
  bool gated = false;             // SwiGLU; else GELU
  bool joined_qkv = false;        // one matrix for queries, keys and values
  bool bias = false;              // each linear layer has one
  bool qkv_bias = false;          // queries, keys and values have one
  bool normalizes_heads = false;  // queries and keys
};
const DecoderStyle* find_decoder_style(const std::string& architecture);  // nullptr: unknown
std::vector<std::string> decoder_architectures();

struct DecoderWeight {
  WeightType type = WeightType::f32;
  int64_t rows = 1, columns = 0;  // a vector has one row
  Tensor data;                    // empty data: not filled yet
};

// Names as GGUF has them: "blk.0.attn_q.weight".
struct DecoderWeightSpec {
  std::string name;
  int64_t rows = 1, columns = 0;
  bool is_vector = false;
  bool optional = false;
};
std::vector<DecoderWeightSpec> decoder_weights(const DecoderShape& shape);

// The vocabulary and how text becomes tokens of it; empty where the network has none.
struct TokenizerData {
  std::string model;                // "gpt2": byte-level byte-pair encoding; others as the file names them; empty: none
  std::string split;                // how text is cut into words first: "smollm", "gpt-2", "qwen2", ...
  std::vector<std::string> tokens;  // by id
  std::vector<int64_t> kinds;       // by id: 3 and 4 are found in the text as they stand
  std::vector<std::string> merges;  // "left right", the most important first
  std::vector<double> scores;       // by id, of other tokenizers
  int64_t begin = -1, end = -1;     // ids; -1: none
  bool adds_begin = false;
  std::string chat_template;
};

struct DecoderModel {
  DecoderShape shape;
  std::map<std::string, DecoderWeight> weights;
  TokenizerData tokenizer;
  // The type to which an engine converts the matrices of seeded networks; f32: as they are.
  WeightType stored_as = WeightType::f32;

  const DecoderWeight& weight(const std::string& name) const;  // throws Error{internal}
  const DecoderWeight* find_weight(const std::string& name) const;
};

// A Graph of one node that takes prompts and gives tokens; without weights and attributes.
Graph prompt_graph(const std::string& name, const std::string& op);
// A tokenizer as the attributes of such a node. kept_tokenizer() throws Error{internal} for another node.
void keep_tokenizer(const TokenizerData& tokenizer, std::map<std::string, Attribute>& attributes);
TokenizerData kept_tokenizer(const Node& node);

Graph decoder_graph(const std::string& name, const DecoderModel& model);
bool is_decoder(const Graph& graph);
bool is_decoder(const GraphSummary& summary);
// The other way round; shares the weights. Throws Error{internal} for another Graph.
DecoderModel decoder_of(const Graph& graph);

// Bytes of keys and values that a token leaves in the cache, at two bytes a number.
int64_t kv_bytes_per_token(const DecoderShape& shape);

}  // namespace deepgap
