// The tokens of single queries as a Record keeps them: Series of the probe `tokens`, so that a Store, a copy of it and the wire need to
// know nothing of tokens. One Series has a value for each delivery; the others have one for each query. Pure functions.
#pragma once

#include <deepgap/generate.h>
#include <deepgap/record.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

inline constexpr const char* tokens_probe = "tokens";

struct TokenDelivery {
  Nanoseconds at = 0;
  uint32_t count = 0;
  bool reasoning = false;

  bool operator==(const TokenDelivery&) const = default;
};

// The tokens that one query generated, in order of time.
struct TokenStream {
  uint64_t query = 0;   // Timing::query
  Nanoseconds due = 0;  // Timing::scheduled
  Nanoseconds end = 0;  // Timing::end
  TokenCounts counts;
  std::vector<TokenDelivery> deliveries;

  int64_t tokens() const;  // sum over all deliveries
  // Times in ms; nullopt where the query gave too few tokens for one.
  std::optional<double> ttft_ms() const;            // from the due time to the first token, reasoning included
  std::optional<double> time_to_answer_ms() const;  // ... to the first token that is not reasoning
  std::optional<double> tpot_ms() const;            // from the first token to the last, for each token after the first
};

// Returns what a bound on `metric` (stats/latency_bound.h) limits in one query: ttft, tpot, itl (its longest time between tokens), or
// latency. The first token of an answer without tokens never comes: its ttft is infinite, and no bound on it is held.
std::optional<double> bounded_ms(const TokenStream& stream, const std::string& metric);

// Returns series in the order given.
std::vector<Series> token_series(std::span<const TokenStream> streams);
// Returns the queries of the Record whose tokens it has, in order of its timings. Throws Error{input} if Series contradict each other.
std::vector<TokenStream> token_streams(const Record& record);

// The times between tokens in ms, a value for each token after its query's first delivery. A delivery of several tokens counts as so many
// with equal times.
std::vector<double> inter_token_ms(std::span<const TokenStream> streams);

}  // namespace deepgap
