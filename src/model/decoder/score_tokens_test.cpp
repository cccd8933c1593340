#include "model/decoder/score_tokens.h"

#include <gtest/gtest.h>

#include <numeric>

namespace deepgap {
namespace {

// Notes the steps; the score of a position is its token.
class NotedSteps final : public DecoderSteps {
 public:
  NotedSteps(int64_t most_rows, int64_t most_scores) : most_rows_(most_rows), most_scores_(most_scores) {}
  int64_t most_rows() const override { return most_rows_; }
  int64_t most_scores() const override { return most_scores_; }
  void make_cache(int64_t sequences, int64_t context) override {
    EXPECT_EQ(sequences, 1);
    context_ = context;
    ++caches;
  }
  int64_t cache_bytes() const override { return 0; }
  int64_t cache_context() const override { return context_; }
  void run(std::span<const DecoderRow> rows) override {
    EXPECT_LE(static_cast<int64_t>(rows.size()), most_rows_);
    scores_.clear();
    for (const DecoderRow& row : rows) {
      EXPECT_EQ(row.sequence, 0);
      EXPECT_EQ(row.position, position_++);
      if (row.wants_scores) scores_.push_back(static_cast<float>(row.token));
    }
    EXPECT_LE(static_cast<int64_t>(scores_.size()), most_scores_);
    ++steps;
  }
  std::span<const float> scores(size_t n) override { return std::span(scores_).subspan(n, 1); }
  int64_t best_token(size_t) override { return 0; }
  int64_t weight_bytes() const override { return 0; }
  std::map<std::string, double> type_shares() const override { return {}; }

  void begin_again() { position_ = 0; }
  int caches = 0, steps = 0;

 private:
  int64_t most_rows_, most_scores_, context_ = 0, position_ = 0;
  std::vector<float> scores_;
};

TEST(ScoreTokens, every_position_from_the_first_asked_one_is_scored_once_within_the_limits_of_a_step) {
  std::vector<int64_t> tokens(29);
  std::iota(tokens.begin(), tokens.end(), 100);
  for (const auto& [rows, most_scores] : {std::pair{8, 3}, {8, 8}, {100, 4}, {1, 1}, {100, 100}}) {
    for (const size_t first : {size_t{0}, size_t{14}, size_t{28}}) {
      NotedSteps steps(rows, most_scores);
      size_t next = first;
      score_tokens(steps, tokens, first, [&](size_t position, std::span<const float> scores) {
        EXPECT_EQ(position, next++);
        EXPECT_EQ(scores[0], static_cast<float>(tokens[position]));
      });
      EXPECT_EQ(next, tokens.size()) << rows << " " << most_scores << " " << first;
    }
  }
}

TEST(ScoreTokens, the_cache_is_made_once_and_steps_are_full) {
  const std::vector<int64_t> tokens(32, 1);
  NotedSteps steps(8, 8);
  for (int i = 0; i < 2; ++i) {
    steps.begin_again();
    score_tokens(steps, tokens, 16, [](size_t, std::span<const float>) {});
  }
  EXPECT_EQ(steps.caches, 1);
  EXPECT_EQ(steps.steps, 2 * 4);
}

}  // namespace
}  // namespace deepgap
