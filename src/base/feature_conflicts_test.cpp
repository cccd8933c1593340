#include "base/feature_conflicts.h"

#include "base/test_error.h"

#include <gmock/gmock.h>

namespace deepgap {
namespace {

TEST(FeatureConflicts, two_features_that_exclude_each_other) {
  EXPECT_EQ(error_of([] {
              refuse_conflicts("run", {{"--quick", "--quick"}, {"--duel", "--duel"}, {"--energy", "--energy"}});
            }),
            "--quick sets the shortest window to half a second: leave out --energy")
      << "the other features are looked for in the order of the row";
  EXPECT_EQ(find_conflict("run", {{"--quick", "--quick"}}), std::nullopt);
  EXPECT_EQ(find_conflict("tune", {{"--quick", "--quick"}, {"--duel", "--duel"}}), std::nullopt) << "a row of another command";
}

TEST(FeatureConflicts, a_feature_that_needs_another) {
  const auto conflict = find_conflict("grid", {{"max_delay", "max_delay"}});
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->feature, "max_delay");
  EXPECT_EQ(find_conflict("grid", {{"max_delay", "max_delay"}, {"max_batch", "max_batch"}}), std::nullopt);
  EXPECT_EQ(find_conflict("export", {{"--timings", "--timings"}, {"format=json", "--format json"}}), std::nullopt) << "one of several";
  EXPECT_NE(find_conflict("export", {{"--timings", "--timings"}, {"format=db", "--format db"}}), std::nullopt);
}

TEST(FeatureConflicts, a_message_names_the_feature_as_it_was_given) {
  EXPECT_EQ(error_of([] {
              refuse_conflicts("grid", {{"quantize option", "quantize.method"}});
            }),
            "quantize.method applies to precision int8: add it to the precisions, or leave it out");
}

}  // namespace
}  // namespace deepgap
