#include "worker/generate_verdict.h"

#include "record/fact_values.h"
#include "record/token_series.h"
#include "stats/latency_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace deepgap {
namespace {

using Streams = std::vector<TokenStream>;

struct Finding {
  Verdict verdict = Verdict::valid;
  std::string reason;
};

// Differences of counts that mean nothing: an end-of-text token that is counted but brings no text, once a request.
bool differ(int64_t a, int64_t b, int64_t requests) {
  constexpr double share = 0.02;
  return std::abs(a - b) > requests + static_cast<int64_t>(share * static_cast<double>(std::max(a, b)));
}

// Text that is taken apart again may be joined otherwise.
bool differ_as_text(int64_t a, int64_t b, int64_t requests) {
  constexpr double share = 0.05;
  return std::abs(a - b) > 2 * requests + static_cast<int64_t>(share * static_cast<double>(std::max(a, b)));
}

// An answer without a token has no time to its first one: where all are so, nothing of what was asked for was measured.
Finding judge_empty(Record& record, const Streams& streams) {
  const auto empty = std::count_if(streams.begin(), streams.end(), [](const TokenStream& s) { return s.deliveries.empty(); });
  if (empty == 0) return {};
  record.facts["tokens.empty"] = static_cast<int64_t>(empty);
  if (static_cast<size_t>(empty) < streams.size()) return {};
  return {Verdict::invalid, fmt::format("none of {} answers had a token; check the server's model, --prompts and --output-tokens", empty)};
}

constexpr const char* differ_words = "token counts differ: ";

Finding judge_counts(Record& record, const Streams& streams) {
  int64_t counted = 0, delivered = 0, chunks = 0, requests = 0;
  for (const TokenStream& stream : streams) {
    chunks += stream.counts.chunks;
    if (stream.counts.output < 0) continue;
    ++requests;
    counted += stream.counts.output;
    delivered += stream.tokens();
  }
  record.facts["tokens.chunks"] = chunks;
  if (requests > 0) record.facts["tokens.counted"] = counted;
  if (requests > 0 && differ(counted, delivered, requests))
    return {Verdict::invalid, fmt::format("{}the server counts {} output tokens, its stream delivered {} in {} requests; do not compare "
                                          "tokens/s of this server",
                                          differ_words, counted, delivered, requests)};
  const int64_t texts = fact_or<int64_t>(record.facts, "session.tokenize.requests", 0),
                by_text = fact_or<int64_t>(record.facts, "session.tokenize.tokens", 0),
                same = fact_or<int64_t>(record.facts, "session.tokenize.counted", 0);
  if (texts > 0 && differ_as_text(same, by_text, texts))
    return {Verdict::invalid, fmt::format("{}of {} answers the server counts {} tokens, its /tokenize {}; do not compare tokens/s of this "
                                          "server",
                                          differ_words, texts, same, by_text)};
  return {};
}

// The beginning of every request before its prompt (a chat template) may be cached, as may what was asked to be shared. One more block of a
// paged cache is not worth a word.
Finding judge_cache(Record& record, const Streams& streams, const GenerateOptions& options) {
  constexpr int64_t block = 16;
  constexpr double unimportant_share = 0.05;
  int64_t cached = 0, input = 0, requests = 0;
  for (const TokenStream& stream : streams) {
    if (stream.counts.cached < 0) continue;
    ++requests;
    cached += stream.counts.cached;
    input += std::max<int64_t>(stream.counts.input, 0);
  }
  if (requests == 0) {
    record.facts["tokens.cached"] = std::string("not available: the server does not report cached tokens");
    return {};
  }
  record.facts["tokens.cached"] = cached;
  if (options.reuse) return {};
  const int64_t allowed = requests * (fact_or<int64_t>(record.facts, "session.template_tokens", 0) + options.shared_prefix + block);
  if (cached <= allowed || static_cast<double>(cached - allowed) <= unimportant_share * static_cast<double>(input)) return {};
  return {Verdict::invalid,
          fmt::format("prefix cache: {} of {} prompt tokens were not computed, although prompts are unique; restart the server, or ask for "
                      "it with --prompt-reuse on",
                      cached, input)};
}

Finding judge_bound(const LatencyBound& bound, const Streams& streams, BoundRule rule) {
  int64_t count = 0, missed = 0;
  for (const TokenStream& stream : streams) {
    const auto value = bounded_ms(stream, bound.metric);
    if (!value) continue;
    ++count;
    missed += *value * 1e6 > static_cast<double>(bound.limit) ? 1 : 0;
  }
  BoundAnswer answer = answer_of(bound, count, missed);
  if (rule == BoundRule::nearest_rank) {
    const bool misses = missed > misses_allowed(bound, std::max(count, fewest_queries(bound)));
    answer = !is_decided(bound, count, missed) ? BoundAnswer::unknown : misses ? BoundAnswer::missed : BoundAnswer::held;
  }
  if (answer == BoundAnswer::held) return {};
  if (answer == BoundAnswer::unknown)
    return {Verdict::undecided, undecided_words(bound, count, missed) + "; measure longer (--duration, --budget, --repeats)"};
  return {Verdict::invalid,
          fmt::format("{} of {} requests missed the SLO {}; lower the load, or make the server faster", missed, count, bound.text)};
}

void worsen(Record& record, const Finding& finding) {
  if (finding.verdict == Verdict::valid || record.verdict == Verdict::invalid) return;
  if (finding.verdict == Verdict::undecided && record.verdict == Verdict::undecided) return;
  record.verdict = finding.verdict;
  record.reason = finding.reason;
}

void note_stops(Record& record, const Streams& streams) {
  const auto count = [&](const char* name, StopReason reason) {
    const auto stopped = std::count_if(streams.begin(), streams.end(), [&](const TokenStream& s) { return s.counts.stop == reason; });
    if (stopped > 0) record.facts[fmt::format("tokens.stopped.{}", name)] = static_cast<int64_t>(stopped);
  };
  count("finished", StopReason::finished);
  count("limit", StopReason::limit);
  count("tool_call", StopReason::tool_call);
  count("filtered", StopReason::filtered);
  count("unknown", StopReason::unknown);
}

}  // namespace

void judge_generation(Record& record, const PointOptions& options, BoundRule rule) {
  if (record.outcome != Outcome::ok) return;
  const Streams streams = token_streams(record);
  if (streams.empty()) return;
  note_stops(record, streams);
  const auto split = std::count_if(streams.begin(), streams.end(), [](const TokenStream& s) { return s.counts.split; });
  if (split > 0) record.facts["tokens.split"] = fmt::format("{} requests: chunks held several tokens, spread by their length", split);
  worsen(record, judge_empty(record, streams));
  worsen(record, judge_counts(record, streams));
  worsen(record, judge_cache(record, streams, options.generate));
  for (const LatencyBound& bound : options.token_bounds) worsen(record, judge_bound(bound, streams, rule));
  if (!options.token_bounds.empty() && record.verdict == Verdict::as_found) record.verdict = Verdict::valid;
}

}  // namespace deepgap
