// What computes a decoder's tokens, on a CPU (engine/decoder), a GPU (engine/gpu/decoder) or another engine: rows of tokens in, scores of
// the next tokens out, with a cache of keys and values that it keeps. Rows of several sequences are computed together, whether they belong
// to prompts or to answers. The session of task generate decides which rows make a step.
//
// One thread at a time calls it; a thread calls enter() before its first call.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace deepgap {

// A token at a position of a sequence.
struct DecoderRow {
  int64_t sequence = 0;  // slot of the cache
  int64_t position = 0;
  int64_t token = 0;
  bool wants_scores = false;  // whether the scores of the next token are wanted
};

class DecoderSteps {
 public:
  virtual ~DecoderSteps() = default;

  virtual void enter() const {}
  virtual int64_t most_rows() const = 0;  // rows of a step
  // Whether a step may have rows of several sequences. false: sequences take turns.
  virtual bool joins_sequences() const { return true; }

  // Room for `sequences` sequences of `context` tokens; forgets all sequences. Throws Error{out_of_memory} naming the bytes.
  virtual void make_cache(int64_t sequences, int64_t context) = 0;
  virtual int64_t cache_bytes() const = 0;    // 0: there is none yet
  virtual int64_t cache_context() const = 0;  // tokens of a sequence that fit

  // Rows of a step that may want scores, with the cache that there is.
  virtual int64_t most_scores() const { return most_rows(); }

  // At most most_rows() rows; those of a sequence in the order of their positions, none missing since position 0.
  virtual void run(std::span<const DecoderRow> rows) = 0;
  // Return what the last run found for the n-th row that wants scores: a score for each token of the vocabulary; the token of the highest,
  // the first of several.
  virtual std::span<const float> scores(size_t n) = 0;
  virtual int64_t best_token(size_t n) = 0;

  virtual int64_t weight_bytes() const = 0;  // as they are held
  // Shares of the matrices' numbers by the type they are held in, in lower case: {"q4_1": 0.8}.
  virtual std::map<std::string, double> type_shares() const = 0;
};

// From the count of numbers by the name of their type as GGUF has it.
std::map<std::string, double> shares_of_types(const std::map<std::string, int64_t>& numbers);

}  // namespace deepgap
