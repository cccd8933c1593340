#include "base/own_libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace deepgap {
namespace {

TEST(OwnLibraries, AreBesideTheirUserOrTheProgramsPlugIns) {
  static const int here = 0;
  const auto program = std::filesystem::canonical("/proc/self/exe");
  EXPECT_THAT(own_library_folders(&here), testing::ElementsAre((program.parent_path() / "deps").string(),
                                                               (program.parent_path().parent_path() / "lib/deepgap/deps").string()));
}

}  // namespace
}  // namespace deepgap
