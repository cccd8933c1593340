// Flags of `deepgap import`: one name for one thing, and those that do not go together.
#include "base/test_error.h"
#include "cli/command_line.h"

#include <gmock/gmock.h>

namespace deepgap {
namespace {

using ::testing::HasSubstr;

std::string mistake_in(const std::vector<std::string>& words) {
  CommandLine line(words);
  return error_of([&] { line.parse(words); });
}

TEST(ImportCommand, FlagsThatDoNotGoTogetherAreRefused) {
  EXPECT_THAT(mistake_in({"import", "ncu", "a.csv", "--source", "x"}), HasSubstr("leave out --source"));
  EXPECT_THAT(mistake_in({"import", "ncu", "a.csv", "--chip", "t4"}), HasSubstr("without a file"));
}

TEST(ImportCommand, TheStoreHasTwoNames) {
  for (const char* flag : {"--store", "-o"}) {
    const std::vector<std::string> words{"import", "csv", "a.csv", flag, "a.db"};
    CommandLine line(words);
    EXPECT_EQ(line.parse(words)->info.name, "import") << flag;
  }
}

}  // namespace
}  // namespace deepgap
