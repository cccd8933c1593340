#include "worker/text_scores.h"

#include "stats/correlated.h"
#include "stats/moments.h"

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

TextEstimate estimate_of(const std::vector<double>& of_chunks) {
  TextEstimate estimate{mean_of(of_chunks), std::nullopt};
  if (const auto mean = estimate_correlated_mean(of_chunks)) estimate.interval = mean->interval();
  return estimate;
}

TextEstimate exp_of(TextEstimate estimate) {
  estimate.value = std::exp(estimate.value);
  if (estimate.interval) estimate.interval = Interval{std::exp(estimate.interval->low), std::exp(estimate.interval->high)};
  return estimate;
}

}  // namespace

NextToken::NextToken(std::span<const float> scores) : scores_(scores) {
  finite_ = std::all_of(scores.begin(), scores.end(), [](float score) { return std::isfinite(score); });
  if (!finite_) return;
  best_ = static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
  const auto most = static_cast<double>(scores[best_]);
  double sum = 0;
  for (const float score : scores) sum += std::exp(static_cast<double>(score) - most);
  log_sum_ = most + std::log(sum);
}

double NextToken::divergence_to(const NextToken& other) const {
  double sum = 0;
  for (size_t token = 0; token < scores_.size(); ++token) {
    const double own = log_probability(token);
    sum += std::exp(own) * (own - other.log_probability(token));
  }
  return sum;
}

void TextScores::add_reference(const NextToken& reference, const NextToken& next, size_t token) {
  has_reference_ = true;
  Chunk& chunk = chunks_.back();
  chunk.reference_loss -= reference.log_probability(token);
  chunk.divergence += reference.divergence_to(next);
  if (reference.best() == next.best()) ++same_top1_;
}

TextResult TextScores::result() const {
  const auto tokens = static_cast<double>(scored_tokens(static_cast<size_t>(chunk_tokens_)));  // in each chunk
  const auto means = [&](auto&& sum_of) {
    std::vector<double> all;
    for (const Chunk& chunk : chunks_) all.push_back(sum_of(chunk) / tokens);
    return estimate_of(all);
  };
  const auto chunks = static_cast<int64_t>(chunks_.size());
  TextResult result{chunks, chunk_tokens_, chunks * static_cast<int64_t>(tokens), {}, {}};
  result.perplexity = exp_of(means([](const Chunk& chunk) { return chunk.loss; }));
  if (!has_reference_) return result;
  result.against = {exp_of(means([](const Chunk& chunk) { return chunk.reference_loss; })),
                    exp_of(means([](const Chunk& chunk) { return chunk.loss - chunk.reference_loss; })),
                    means([](const Chunk& chunk) { return chunk.divergence; }), same_top1_};
  return result;
}

}  // namespace deepgap
