#include "cli/text_check.h"

#include "analysis/ratio_text.h"
#include "base/console.h"
#include "base/dump_json.h"
#include "base/words.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "record/record_json.h"
#include "run/progress.h"
#include "stats/proportion.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

using nlohmann::json;

constexpr const char* text_command = "__text";

json answer_text(const json& request, FrameWriter& before) {
  const ScoredText scored = score_text(text_request_from_json(request), [&](int64_t done, int64_t chunks) {
    before.write({{{"kind", "chunk"}, {"done", done}, {"chunks", chunks}}, {}});
  });
  return scored_text_to_json(scored);
}

const bool registered = add_child_command(text_command, answer_text);

// A line on a terminal that each chunk replaces.
class ChunkLine {
 public:
  ~ChunkLine() {
    if (shown_) say(stderr, "\r\x1b[K");
  }
  void show(const Frame& frame) {
    if (terminal_columns(stderr) == 0) return;
    shown_ = true;
    say(stderr, fmt::format("\r\x1b[Kchunk {} of {}", frame.header.at("done").get<int64_t>(), frame.header.at("chunks").get<int64_t>()));
  }

 private:
  bool shown_ = false;
};

ScoredText scored_in_child(const TextRequest& request) {
  ChunkLine line;
  return scored_text_from_json(call_child({text_command, fmt::format("{} with {}", request.engine.backend, request.engine.model.name),
                                           text_request_to_json(request), [&](const Frame& frame) { line.show(frame); }}));
}

std::string perplexity_words(const TextEstimate& estimate) {
  if (!estimate.interval) return fmt::format("{:.2f}", estimate.value);
  return fmt::format("{:.2f} (95 % CI {:.2f} to {:.2f})", estimate.value, estimate.interval->low, estimate.interval->high);
}

std::string divergence_words(const TextEstimate& estimate) {
  if (!estimate.interval) return fmt::format("{:.3g} nats", estimate.value);
  return fmt::format("{:.3g} nats (95 % CI {:.3g} to {:.3g})", estimate.value, estimate.interval->low, estimate.interval->high);
}

std::string ratio_words(const TextEstimate& ratio) {
  if (!ratio.interval) return ratio_beside_one(ratio.value) + "x";
  const RatioText text = ratio_text(ratio.value, *ratio.interval);
  return fmt::format("{}x ({})", text.ratio, text.range);
}

Interval agreement_interval(const TextResult& result) { return wilson_interval(result.against->same_top1, result.tokens); }

double agreement(const TextResult& result) { return static_cast<double>(result.against->same_top1) / static_cast<double>(result.tokens); }

void add_estimate(const std::string& name, const TextEstimate& estimate, json& to) {
  to[name] = estimate.value;
  to[name + "_ci_low"] = estimate.interval ? json(estimate.interval->low) : json();
  to[name + "_ci_high"] = estimate.interval ? json(estimate.interval->high) : json();
}

}  // namespace

std::string text_table(const TextRequest& request, const ScoredText& scored) {
  const TextResult& result = scored.result;
  std::string text = fmt::format(
      "{} {} on {}{}: perplexity of {}\n", scored.version, name_of(request.engine.precision), printable(request.engine.model.name),
      request.against.empty() ? "" : " against " + printable(request.against), printable(request.engine.dataset));
  const auto row = [&](const char* name, const std::string& value) { text += fmt::format("  {:<20}{}\n", name, value); };
  row("method", fmt::format("{} of {} tokens, second half of each scored",
                            result.chunks == 1 ? "1 chunk" : fmt::format("{} chunks", result.chunks), result.chunk_tokens));
  row("tokens scored", std::to_string(result.tokens));
  row("perplexity", perplexity_words(result.perplexity));
  if (result.against) {
    row("of the reference", perplexity_words(result.against->perplexity));
    row("ratio", ratio_words(result.against->ratio));
    const Interval share = agreement_interval(result);
    row("top-1 agreement", fmt::format("{:.1f} % (95 % CI {:.1f} to {:.1f})", 100 * agreement(result), 100 * share.low, 100 * share.high));
    row("mean KL divergence", divergence_words(result.against->divergence));
  }
  if (result.chunks == 1) row("no interval", "needs two chunks: give a longer text");
  return text;
}

json text_json(const TextRequest& request, const ScoredText& scored) {
  const TextResult& result = scored.result;
  json json{{"model", request.engine.model.name},
            {"backend", scored.version},
            {"device", device_name(request.engine.device)},
            {"precision", name_of(request.engine.precision)},
            {"text", request.engine.dataset},
            {"chunks", result.chunks},
            {"chunk_tokens", result.chunk_tokens},
            {"tokens", result.tokens}};
  add_estimate("perplexity", result.perplexity, json);
  if (!result.against) return json;
  json["against"] = request.against;
  add_estimate("reference_perplexity", result.against->perplexity, json);
  add_estimate("perplexity_ratio", result.against->ratio, json);
  const Interval share = agreement_interval(result);
  add_estimate("top1_agreement", {agreement(result), share}, json);
  add_estimate("kl_divergence", result.against->divergence, json);
  return json;
}

int check_text(const TextRequest& request, bool as_json) {
  OutputsRequest file = request.engine;
  file.dataset = "seeded";
  look_at(file);
  if (!request.against.empty()) {
    file.model.name = request.against;
    look_at(file);
  }
  const ScoredText scored = scored_in_child(request);
  if (as_json) {
    fmt::print("{}", dump_indented(text_json(request, scored)));
  } else {
    print_wrapped(text_table(request, scored));
  }
  return exit_ok;
}

}  // namespace deepgap
