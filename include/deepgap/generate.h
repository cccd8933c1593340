// Defines a query of task `generate`: a prompt goes in, tokens come out one after another. Plain data.
//
// A query is one prompt. Each staged sample has two tensors: `prompt`, u8 of shape [1, bytes], and `request`, i64 of shape [1, fields], in
// the order of PromptField. The Session notes each delivery of tokens as a mark of the query (MarkId::tokens), however many there are, and
// completes the query once, with all marks and its TokenCounts. So whoever drives queries (loops, queues, stopping rules) knows nothing of
// tokens, and no thread wakes up for a single one.
//
// The alternative completes a query in parts, one per delivery. Every Target, queue and loop would then have to distinguish parts from
// whole queries, and at 20,000 tokens a second the scenario's thread would be woken as often for times that nobody reads before the end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deepgap {

enum class PromptField : size_t {
  output_limit,     // tokens at most; 0: the Session's own limit
  is_conversation,  // 1: the prompt is a JSON array of messages {"role", "content"}; 0: it is text
  unique_at         // byte before which a text that no other query has is put in; -1: the prompt is sent as it is
};
inline constexpr size_t prompt_fields = 3;

struct GenerateSettings {
  uint64_t unique_seed = 1;  // seed of the texts that make prompts unique; each repeat has its own
};

enum class StopReason : uint8_t { unknown, finished, limit, tool_call, filtered };

// Token counts of one query. -1: nobody counted it.
struct TokenCounts {
  int64_t input = -1;   // tokens of the prompt, as the engine or server counts them
  int64_t output = -1;  // tokens generated, likewise
  int64_t cached = -1;  // input tokens that were not computed again
  int64_t chunks = 0;   // deliveries with tokens in them, as they came
  bool split = false;   // the number of tokens in each delivery is not known: the output's were spread over the deliveries by their length
  StopReason stop = StopReason::unknown;
};

}  // namespace deepgap
