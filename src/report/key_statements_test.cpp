#include "report/key_statements.h"

#include <gmock/gmock.h>

namespace deepgap {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

FindingStatements finding(const std::string& id, Tone tone, int count) {
  FindingStatements made{id, "", Place::summary, {}};
  for (int i = 0; i < count; ++i) made.statements.push_back({tone, id + std::to_string(i), "", {}});
  return made;
}

std::vector<std::string> headlines(const std::vector<Statement>& statements) {
  std::vector<std::string> all;
  for (const Statement& statement : statements) all.push_back(statement.headline);
  return all;
}

TEST(KeyStatements, takes_one_of_each_finding_in_turn) {
  const auto key =
      key_statements({finding("best", Tone::result, 6), finding("latency", Tone::result, 6), finding("batch", Tone::result, 1)});
  EXPECT_THAT(headlines(key.shown), ElementsAre("best0", "latency0", "batch0", "best1", "latency1", "best2"));
  EXPECT_THAT(headlines(key.folded), ElementsAre("best3", "best4", "best5", "latency2", "latency3", "latency4", "latency5"));
}

TEST(KeyStatements, keeps_two_places_for_failures_and_cautions) {
  const auto key =
      key_statements({finding("best", Tone::result, 9), finding("trust", Tone::warning, 3), finding("failed", Tone::failure, 1)});
  EXPECT_THAT(headlines(key.shown), ElementsAre("failed0", "best0", "best1", "best2", "best3", "trust0"));
  EXPECT_EQ(key.folded.size(), 7u);
}

TEST(KeyStatements, cautions_and_notes_take_the_places_that_results_leave) {
  const auto key =
      key_statements({finding("best", Tone::result, 1), finding("trust", Tone::warning, 3), finding("machine", Tone::note, 4)});
  EXPECT_THAT(headlines(key.shown), ElementsAre("best0", "trust0", "trust1", "trust2", "machine0", "machine1"));
  EXPECT_THAT(headlines(key.folded), ElementsAre("machine2", "machine3"));
}

TEST(KeyStatements, folds_no_failures_since_they_have_a_section) {
  FindingStatements failures = finding("failed", Tone::failure, 9);
  failures.place = Place::failures;
  const auto key = key_statements({finding("best", Tone::result, 9), failures});
  EXPECT_THAT(headlines(key.shown), ElementsAre("failed0", "failed1", "best0", "best1", "best2", "best3"));
  EXPECT_EQ(key.folded.size(), 5u);
}

TEST(KeyStatements, of_nothing_are_nothing) {
  const auto key = key_statements({});
  EXPECT_THAT(key.shown, IsEmpty());
  EXPECT_THAT(key.folded, IsEmpty());
}

}  // namespace
}  // namespace deepgap
