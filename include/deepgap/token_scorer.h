// TokenScorer: a Session of task generate that scores tokens which are given, so that the accuracy of its weights can be measured. A
// Session that does derives from it besides, and is found by dynamic_cast: plug-ins that score nothing know nothing of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace deepgap {

// The scores of all tokens of the vocabulary, before a softmax, for the token that follows the one at `position`. Valid during the call.
using ScoresReceiver = std::function<void(size_t position, std::span<const float> scores)>;

class TokenScorer {
 public:
  virtual ~TokenScorer() = default;
  // Returns the tokens of a text, as for a prompt. Those of an empty text are what precedes each one: none, or a token of the beginning.
  virtual std::vector<int64_t> encode(std::string_view text) const = 0;
  virtual int64_t context() const = 0;  // tokens at most
  // Computes `tokens` from position 0 on and passes on the scores after each position from `first` on, in order. While nothing is in
  // flight; samples must be staged anew afterwards.
  virtual void score(std::span<const int64_t> tokens, size_t first, const ScoresReceiver& receive) = 0;
};

}  // namespace deepgap
