#include "base/unfinished_file.h"

#include "base/output_file.h"
#include "base/temporary_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

size_t files_in(const TemporaryFolder& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()));
}

// A process that is killed while it writes `target`.
void write_and_die(const std::string& target) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::string path;
    const FileDescriptor file = make_unfinished_file(target, path);
    write_file_atomic(path + "-wal", "log");
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST(UnfinishedFile, OfAKilledProcessIsRemovedByTheNext) {
  const TemporaryFolder folder;
  write_and_die(folder / "store.db");
  write_and_die(folder / "other.db");
  EXPECT_EQ(files_in(folder), 4U);
  write_file_atomic(folder / "store.db", "whole");
  EXPECT_EQ(files_in(folder), 3U) << "those of another target are not looked at";
  write_file_atomic(folder / "other.db", "whole");
  EXPECT_EQ(files_in(folder), 2U);
}

TEST(UnfinishedFile, ThatIsBeingWrittenStays) {
  const TemporaryFolder folder;
  std::string first, second;
  const FileDescriptor one = make_unfinished_file(folder / "file", first), two = make_unfinished_file(folder / "file", second);
  ASSERT_TRUE(one.valid() && two.valid());
  EXPECT_NE(first, second);
  EXPECT_EQ(files_in(folder), 2U);
}

TEST(UnfinishedFile, OtherFilesStay) {
  const TemporaryFolder folder;
  for (const char* name : {"file.unfinished-1", "file.unfinished-1234567g", "file.unfinished-12345678.txt", "a.unfinished-12345678"})
    write_file_atomic(folder / name, "mine");
  fs::create_directory(folder / "file.unfinished-12345678");
  write_file_atomic(folder / "file", "whole");
  EXPECT_EQ(files_in(folder), 6U);
}

}  // namespace
}  // namespace deepgap
