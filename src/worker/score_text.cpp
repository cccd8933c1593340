#include "worker/score_text.h"

#include "base/byte_text.h"
#include "base/clocks.h"
#include "base/file.h"
#include "record/json_text.h"
#include "worker/load_session.h"
#include "worker/memory_limit.h"
#include "worker/plugin.h"
#include "worker/request_json.h"
#include "worker/run_graph.h"

#include <deepgap/error.h>
#include <deepgap/token_scorer.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

namespace deepgap {

template <typename V>
void fields(V& visit, TextRequest& request) {
  visit("engine", request.engine);
  visit("against", request.against);
  visit("most_chunks", request.most_chunks);
}

template <typename V>
void fields(V& visit, Interval& interval) {
  visit("low", interval.low);
  visit("high", interval.high);
}

template <typename V>
void fields(V& visit, TextEstimate& estimate) {
  visit("value", estimate.value);
  visit("interval", estimate.interval);
}

template <typename V>
void fields(V& visit, TextAgreement& agreement) {
  visit("perplexity", agreement.perplexity);
  visit("ratio", agreement.ratio);
  visit("divergence", agreement.divergence);
  visit("same_top1", agreement.same_top1);
}

template <typename V>
void fields(V& visit, TextResult& result) {
  visit("chunks", result.chunks);
  visit("chunk_tokens", result.chunk_tokens);
  visit("tokens", result.tokens);
  visit("perplexity", result.perplexity);
  visit("against", result.against);
}

template <typename V>
void fields(V& visit, ScoredText& scored) {
  visit("version", scored.version);
  visit("result", scored.result);
}

namespace {

using Tokens = std::vector<int64_t>;

std::string read_whole_text(const std::string& path) {
  std::string text = read_text(path);
  if (text.empty()) throw Error(ErrorKind::input, fmt::format("{}: the text is empty", path));
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text, at);
    if (length == 0)
      throw Error(ErrorKind::input, fmt::format("{}: byte {} is not UTF-8: give a text in UTF-8 (iconv converts others)", path, at));
    at += length;
  }
  return text;
}

// A network in an engine, ready to score.
class LoadedScorer {
 public:
  LoadedScorer(Backend& backend, Clock& clock, const EngineChoice& engine, const ModelRequest& model)
      : name_(model.name), model_(open_model(model)) {
    require_support(backend, engine, *model_);
    session_ = load_session(backend, *model_, load_options(engine, 1, clock));
    scorer_ = dynamic_cast<TokenScorer*>(session_.get());
    if (scorer_ == nullptr) throw Error(ErrorKind::refused, fmt::format("{} does not score texts: leave --backend out", backend.name()));
  }

  const std::string& name() const { return name_; }
  TokenScorer& scorer() const { return *scorer_; }

 private:
  std::string name_;
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Session> session_;
  TokenScorer* scorer_ = nullptr;
};

// The tokens of a text, in chunks.
class Chunks {
 public:
  Chunks(const TextRequest& request, const std::string& text, const LoadedScorer& file, const LoadedScorer* reference)
      : tokens_(file.scorer().encode(text)), before_(file.scorer().encode("")) {
    int64_t context = file.scorer().context();
    if (reference != nullptr) {
      if (reference->scorer().encode(text) != tokens_)
        throw Error(ErrorKind::input, fmt::format("{} and {} make different tokens of {}, so that their perplexities cannot be compared: "
                                                  "give a reference with the same tokenizer",
                                                  file.name(), reference->name(), request.engine.dataset));
      context = std::min(context, reference->scorer().context());
    }
    if (context < fewest_chunk_tokens)
      throw Error(ErrorKind::input, fmt::format("{}: its context of {} tokens is too short for a text", file.name(), context));
    size_ = std::min(context, usual_chunk_tokens);
    count_ = static_cast<int64_t>(tokens_.size()) / size_;
    if (count_ == 0)
      throw Error(ErrorKind::input, fmt::format("{}: the text has {} tokens, fewer than a chunk of {}: give a longer text",
                                                request.engine.dataset, tokens_.size(), size_));
    if (request.most_chunks > 0) count_ = std::min(count_, request.most_chunks);
  }

  int64_t size() const { return size_; }
  int64_t count() const { return count_; }
  // Begins as every text does.
  Tokens chunk(int64_t index) const {
    const auto begin = tokens_.begin() + index * size_;
    Tokens chunk(begin, begin + size_);
    if (!before_.empty()) chunk.front() = before_.front();
    return chunk;
  }

 private:
  Tokens tokens_, before_;
  int64_t size_ = 0, count_ = 0;
};

NextToken next_token(const LoadedScorer& from, size_t position, std::span<const float> scores) {
  NextToken next(scores);
  if (!next.finite())
    throw Error(ErrorKind::refused, fmt::format("{} returns NaN or infinity after token {} of a chunk; check the weights, or give another "
                                                "--precision",
                                                from.name(), position));
  return next;
}

void score_chunk(const Tokens& chunk, const LoadedScorer& file, const LoadedScorer* reference, TextScores& scores) {
  const std::span<const int64_t> given(chunk.data(), chunk.size() - 1);  // nothing is known of what follows the last one
  const size_t first = first_scored(chunk.size());
  std::vector<std::vector<float>> kept;
  std::vector<NextToken> nexts;  // views of `kept`
  scores.begin_chunk();
  file.scorer().score(given, first, [&](size_t position, std::span<const float> of_file) {
    if (reference != nullptr) of_file = kept.emplace_back(of_file.begin(), of_file.end());
    nexts.push_back(next_token(file, position, of_file));
    scores.add(nexts.back(), static_cast<size_t>(chunk[position + 1]));
  });
  if (reference == nullptr) return;
  reference->scorer().score(given, first, [&](size_t position, std::span<const float> of_reference) {
    if (of_reference.size() != kept[position - first].size())
      throw Error(ErrorKind::input, fmt::format("{} has a vocabulary of {} tokens, {} one of {}: give a reference with the same vocabulary",
                                                file.name(), kept[position - first].size(), reference->name(), of_reference.size()));
    scores.add_reference(next_token(*reference, position, of_reference), nexts[position - first], static_cast<size_t>(chunk[position + 1]));
  });
}

}  // namespace

nlohmann::json text_request_to_json(const TextRequest& request) { return json_of(request); }
TextRequest text_request_from_json(const nlohmann::json& json) {
  auto request = json_to<TextRequest>(json, "request for a text's scores");
  request.engine.model.cache_dir = request.engine.cache_dir;
  return request;
}

nlohmann::json scored_text_to_json(const ScoredText& scored) { return json_of(scored); }
ScoredText scored_text_from_json(const nlohmann::json& json) { return json_to<ScoredText>(json, "scores of a text"); }

ScoredText score_text(const TextRequest& request, const ChunkReceiver& receive) {
  if (request.engine.device.kind == "cpu") limit_memory();
  const std::string text = read_whole_text(request.engine.dataset);
  const auto plugin = open_plugin(request.engine.backend);
  const auto clock = make_real_clock();
  EngineChoice engine = engine_of(request.engine);
  engine.task = Task::generate;
  const LoadedScorer file(plugin->backend(), *clock, engine, request.engine.model);
  std::optional<LoadedScorer> reference;
  if (!request.against.empty()) {
    ModelRequest other = request.engine.model;
    other.name = request.against;
    if (engine.device.kind == "cpu") engine.precision = Precision::fp32;
    reference.emplace(plugin->backend(), *clock, engine, other);
  }
  const Chunks chunks(request, text, file, reference ? &*reference : nullptr);
  TextScores scores(chunks.size());
  for (int64_t i = 0; i < chunks.count(); ++i) {
    score_chunk(chunks.chunk(i), file, reference ? &*reference : nullptr, scores);
    receive(i + 1, chunks.count());
  }
  return {fmt::format("{} {}", request.engine.backend, plugin->backend().version()), scores.result()};
}

}  // namespace deepgap
