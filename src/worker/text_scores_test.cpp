#include "worker/text_scores.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace deepgap {
namespace {

using Row = std::vector<float>;

Row random_row(std::mt19937_64& random, size_t size) {
  Row row;
  for (size_t i = 0; i < size; ++i) row.push_back(static_cast<float>(random() >> 40) * 0x1p-21F - 4);
  return row;
}

// As one writes a softmax down.
double probability(const Row& row, size_t token) {
  double sum = 0;
  for (const float score : row) sum += std::exp(static_cast<double>(score));
  return std::exp(static_cast<double>(row[token])) / sum;
}

TEST(NextToken, probabilities_are_those_of_a_softmax) {
  std::mt19937_64 random(1);
  const Row p = random_row(random, 50), q = random_row(random, 50);
  const NextToken next(p);
  double divergence = 0;
  for (size_t token = 0; token < p.size(); ++token) {
    EXPECT_NEAR(next.log_probability(token), std::log(probability(p, token)), 1e-12);
    divergence += probability(p, token) * std::log(probability(p, token) / probability(q, token));
  }
  EXPECT_NEAR(next.divergence_to(NextToken(q)), divergence, 1e-12);
  EXPECT_EQ(next.divergence_to(next), 0);
}

TEST(NextToken, large_scores_and_ties_and_what_is_not_finite) {
  const Row large{1000, 999, 1000};
  EXPECT_EQ(NextToken(large).best(), 0U);
  EXPECT_NEAR(NextToken(large).log_probability(1), -1 - std::log(2 + std::exp(-1.0)), 1e-9);
  EXPECT_FALSE(NextToken(Row{0, std::numeric_limits<float>::quiet_NaN()}).finite());
  EXPECT_FALSE(NextToken(Row{0, std::numeric_limits<float>::infinity()}).finite());
}

TEST(TextScores, the_second_half_of_a_chunk_is_scored_as_llama_cpp_does) {
  EXPECT_EQ(first_scored(512), 256U);
  EXPECT_EQ(scored_tokens(512), 255U);
  EXPECT_EQ(scored_tokens(fewest_chunk_tokens), 1U);
}

// A plain loop over all tokens gives the same perplexities and agreement.
TEST(TextScores, values_are_those_of_a_plain_loop) {
  constexpr int64_t chunk_tokens = 8;
  constexpr size_t chunks = 5, vocabulary = 20;
  std::mt19937_64 random(2);
  TextScores scores(chunk_tokens);
  double loss = 0, reference_loss = 0, divergence = 0;
  int64_t tokens = 0, same = 0;
  for (size_t chunk = 0; chunk < chunks; ++chunk) {
    scores.begin_chunk();
    for (size_t i = 0; i < scored_tokens(chunk_tokens); ++i) {
      const Row of_reference = random_row(random, vocabulary);
      Row row = of_reference;
      for (float& score : row) score += static_cast<float>(random() >> 40) * 0x1p-23F - 1;
      const size_t token = random() % vocabulary;
      scores.add(NextToken(row), token);
      scores.add_reference(NextToken(of_reference), NextToken(row), token);
      loss -= std::log(probability(row, token));
      reference_loss -= std::log(probability(of_reference, token));
      divergence += NextToken(of_reference).divergence_to(NextToken(row));
      ++tokens;
      const auto best = [](const Row& scored) { return std::max_element(scored.begin(), scored.end()) - scored.begin(); };
      same += best(row) == best(of_reference) ? 1 : 0;
    }
  }
  const TextResult result = scores.result();
  const auto count = static_cast<double>(tokens);
  EXPECT_EQ(result.tokens, tokens);
  EXPECT_EQ(result.chunks, static_cast<int64_t>(chunks));
  EXPECT_NEAR(result.perplexity.value, std::exp(loss / count), 1e-9);
  EXPECT_NEAR(result.against->perplexity.value, std::exp(reference_loss / count), 1e-9);
  EXPECT_NEAR(result.against->ratio.value, std::exp((loss - reference_loss) / count), 1e-12);
  EXPECT_NEAR(result.against->divergence.value, divergence / count, 1e-12);
  EXPECT_EQ(result.against->same_top1, same);
  EXPECT_GT(same, 0);
  EXPECT_LT(same, tokens);
}

// Chunks of unlike difficulty scatter both perplexities, not their ratio.
TEST(TextScores, the_interval_of_the_ratio_is_paired) {
  TextScores scores(fewest_chunk_tokens);
  for (const float difficulty : {1.0F, 4.0F, 2.0F, 3.0F, 0.5F, 2.5F}) {
    scores.begin_chunk();
    const Row row{0, difficulty}, of_reference{0, difficulty - 0.01F};
    scores.add(NextToken(row), 0);
    scores.add_reference(NextToken(of_reference), NextToken(row), 0);
  }
  const TextResult result = scores.result();
  EXPECT_GT(result.perplexity.interval->half_width(), 1);
  EXPECT_LT(result.against->ratio.interval->half_width(), 0.005);
  EXPECT_GT(result.against->ratio.interval->low, 1);
}

TEST(TextScores, equal_networks_have_the_ratio_1_and_agree) {
  TextScores scores(fewest_chunk_tokens);
  for (const float score : {1.0F, 2.0F, 3.0F}) {
    scores.begin_chunk();
    const Row row{0, score};
    scores.add(NextToken(row), 1);
    scores.add_reference(NextToken(row), NextToken(row), 1);
  }
  const TextAgreement against = *scores.result().against;
  EXPECT_EQ(against.ratio.value, 1);
  EXPECT_EQ(against.ratio.interval->low, 1);
  EXPECT_EQ(against.ratio.interval->high, 1);
  EXPECT_EQ(against.divergence.value, 0);
  EXPECT_EQ(against.same_top1, 3);
}

TEST(TextScores, one_chunk_has_no_interval_and_no_reference_no_ratio) {
  TextScores scores(fewest_chunk_tokens);
  scores.begin_chunk();
  scores.add(NextToken(Row{0, 0, 0, 0}), 2);
  const TextResult result = scores.result();
  EXPECT_NEAR(result.perplexity.value, 4, 1e-12);
  EXPECT_FALSE(result.perplexity.interval);
  EXPECT_FALSE(result.against);
}

}  // namespace
}  // namespace deepgap
