// How well a decoder foresees a text, and how far it is from another form of the same network: perplexity, and the agreement of both.
//
// A text's tokens are cut into chunks of equal length, each computed on its own from position 0; the second half of each is scored, so that
// every token has at least half a chunk before it. This is how llama.cpp's `perplexity` tool does it, with the same default of 512 tokens:
//   https://github.com/ggml-org/llama.cpp/tree/master/tools/perplexity
// Perplexity is exp of the mean negative log-probability. Tokens of a chunk resemble each other (one subject, one author), so that the
// chunk is the unit of its interval (stats/correlated.h); the ratio of two forms comes from the differences of their chunks, in which what
// is hard about the text falls out. Pure: numbers in, numbers out.
#pragma once

#include "stats/interval.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace deepgap {

inline constexpr int64_t usual_chunk_tokens = 512;
// The first position of a chunk whose next token is scored; the last such one is the second to last.
inline constexpr size_t first_scored(size_t chunk_tokens) { return chunk_tokens / 2; }
inline constexpr size_t scored_tokens(size_t chunk_tokens) { return chunk_tokens - 1 - first_scored(chunk_tokens); }
inline constexpr int64_t fewest_chunk_tokens = 4;

struct TextEstimate {
  double value = 0;
  std::optional<Interval> interval;  // 95 %; nullopt: a single chunk shows no scatter
};

struct TextAgreement {
  TextEstimate perplexity;  // the reference's
  TextEstimate ratio;       // perplexity over that of the reference
  TextEstimate divergence;  // mean KL divergence from the reference, in nats
  int64_t same_top1 = 0;
};

struct TextResult {
  int64_t chunks = 0, chunk_tokens = 0, tokens = 0;  // tokens: those that were scored
  TextEstimate perplexity;
  std::optional<TextAgreement> against;
};

// Probabilities of the next token, out of scores.
class NextToken {
 public:
  explicit NextToken(std::span<const float> scores);
  bool finite() const { return finite_; }  // false: scores hold NaN or infinity, and nothing below means anything
  size_t best() const { return best_; }    // the first of the likeliest
  double log_probability(size_t token) const { return static_cast<double>(scores_[token]) - log_sum_; }
  // KL divergence of `other` from this one, in nats.
  double divergence_to(const NextToken& other) const;

 private:
  std::span<const float> scores_;
  size_t best_ = 0;
  bool finite_ = true;
  double log_sum_ = 0;
};

class TextScores {
 public:
  explicit TextScores(int64_t chunk_tokens) : chunk_tokens_(chunk_tokens) {}
  void begin_chunk() { chunks_.emplace_back(); }
  void add(const NextToken& next, size_t token) { chunks_.back().loss -= next.log_probability(token); }
  // The same token by the reference.
  void add_reference(const NextToken& reference, const NextToken& next, size_t token);
  // At least one chunk.
  TextResult result() const;

 private:
  struct Chunk {
    double loss = 0, reference_loss = 0, divergence = 0;  // sums
  };
  int64_t chunk_tokens_;
  std::vector<Chunk> chunks_;
  bool has_reference_ = false;
  int64_t same_top1_ = 0;
};

}  // namespace deepgap
