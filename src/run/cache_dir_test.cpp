#include "run/run_study.h"

#include "base/temporary_folder.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace deepgap {
namespace {

TEST(CacheFolder, WhereHomeCannotBeWrittenItIsTheUsersOwnBelowTmp) {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "no folder";
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", (folder / "file").c_str(), 1);
  ::setenv("TMPDIR", folder.path().c_str(), 1);
  testing::internal::CaptureStderr();
  const std::string found = default_cache_dir();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(found, folder / ("deepgap-cache-" + std::to_string(::getuid())));
  EXPECT_NE(said.find("cannot be written; the cache is " + found), std::string::npos) << said;
  ::setenv("HOME", folder.path().c_str(), 1);
  EXPECT_EQ(default_cache_dir(), folder / ".cache/deepgap");
  ::unsetenv("TMPDIR");
}

}  // namespace
}  // namespace deepgap
