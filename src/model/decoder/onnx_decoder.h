// A decoder out of an ONNX file as Optimum and transformers.js export it: tokens and the cache of keys and values in (input_ids,
// attention_mask, position_ids, num_logits_to_keep, use_cache_branch, past_key_values.N.key and .value), scores and the longer cache out
// (logits, present.N.key and .value). As a Model it is a Graph of one node, deepgap.OnnxDecoder, that takes prompts; the Graph of the file
// is its attribute "body". An engine opens the file itself.
#pragma once

#include "model/decoder/decoder.h"

#include <deepgap/graph.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

// The keys, or the values, of a layer: [batch, heads, tokens, size].
struct CachePort {
  std::string past, present;  // names of the input and of the output
  int64_t heads = 0, size = 0;
  DataType type = DataType::f32;  // or f16
};

struct OnnxDecoder {
  std::vector<CachePort> caches;  // by layer, keys before values
  bool has_mask = false, has_positions = false;
  // Shapes of inputs of one number; nullopt: there is none.
  std::optional<Shape> kept_scores;     // the number of last tokens whose scores are wanted
  std::optional<Shape> cache_branch;    // whether a merged file computes its branch with a cache, which takes an empty one too
  DataType score_type = DataType::f32;  // or f16
  int64_t vocabulary = 0;
  int64_t context = 0;
  TokenizerData tokenizer;  // model "": there is none beside the file

  int64_t cache_bytes_per_token() const;
};

// `file` is the Graph of the file at `path`. The files beside it, or in the folder above one named "onnx", say what it does not:
// config.json the context and the end of text, tokenizer.json and tokenizer_config.json the tokenizer. Throws Error{input} for what is not
// such a decoder.
Graph onnx_decoder_graph(Graph file, const std::string& path);
// The Graph of the file; nullptr: `graph` is not of such a decoder.
const Graph* onnx_decoder_body(const Graph& graph);
bool is_onnx_decoder(const GraphSummary& summary);
// Throws Error{internal} for another Graph.
OnnxDecoder onnx_decoder_of(const Graph& graph);

}  // namespace deepgap
