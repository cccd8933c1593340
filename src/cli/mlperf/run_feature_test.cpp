// Flags of MLPerf runs: they have their place in the help, and refuse what a round's rules exclude.
#include "base/test_error.h"
#include "cli/command_line.h"

#include <gmock/gmock.h>

namespace deepgap {
namespace {

using ::testing::HasSubstr;

TEST(MlperfFeature, ItsFlagsStandInTheCompleteHelp) {
  const CommandLine line;
  EXPECT_THAT(line.help("run"), HasSubstr("--mlperf-log"));
  EXPECT_THAT(line.help("run", false), testing::Not(HasSubstr("--mlperf")));
  EXPECT_THAT(line.help("export"), HasSubstr("--submitter"));
}

TEST(MlperfFeature, ARunEndsByTheRulesOfItsRound) {
  const std::vector<std::string> words{"run", "resnet50", "--axis", "mlperf=v6.0", "-n", "5"};
  CommandLine line(words);
  EXPECT_THAT(error_of([&] { line.parse(words); }), HasSubstr("leave out --iterations"));
}

}  // namespace
}  // namespace deepgap
