#include "base/output_file.h"

#include "base/own_file.h"
#include "base/temporary_folder.h"
#include "base/test_error.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>

namespace deepgap {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string read_from(int descriptor) {
  std::array<char, 256> text{};
  const ssize_t count = ::read(descriptor, text.data(), text.size());
  return {text.data(), static_cast<size_t>(std::max<ssize_t>(count, 0))};
}

size_t files_in(const TemporaryFolder& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()));
}

TEST(OutputFile, AppearsWhenItIsWhole) {
  const TemporaryFolder folder;
  const std::string path = folder / "file", large(200'000, 'x');
  write_file_atomic(path, "before");
  {
    OutputFile file(path);
    file.write("a");
    file.write(large);
    EXPECT_EQ(read_text(path), "before");
    file.finish();
  }
  EXPECT_EQ(read_text(path), "a" + large);
  { OutputFile(path).write("half"); }
  EXPECT_EQ(read_text(path), "a" + large);
  EXPECT_EQ(files_in(folder), 1U) << "what is not finished leaves nothing";
}

TEST(OutputFile, ReplacesWhatALinkLeadsTo) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "there");
  fs::create_symlink("there/target", folder / "link");
  fs::create_symlink("link", folder / "link_to_link");
  for (const char* text : {"made", "replaced"}) {
    write_file_atomic(folder / "link_to_link", text);
    EXPECT_TRUE(fs::is_symlink(folder / "link_to_link"));
    EXPECT_TRUE(fs::is_symlink(folder / "link"));
    EXPECT_EQ(read_text(folder / "there/target"), text);
  }
}

TEST(OutputFile, LinksWithoutAnEndAreRefused) {
  const TemporaryFolder folder;
  fs::create_symlink("a", folder / "b");
  fs::create_symlink("b", folder / "a");
  EXPECT_THAT(error_of([&] { write_file_atomic(folder / "a", ""); }, ErrorKind::input), HasSubstr("/a: Too many levels of symbolic links"));
}

TEST(OutputFile, DoesNotFollowAnotherUsersLinkInASharedFolder) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make another user's link";
  constexpr uid_t stranger = 65'534;
  const TemporaryFolder folder;
  const std::string shared = folder / "shared", link = shared + "/link", victim = folder / "victim";
  write_file_atomic(victim, "before");
  fs::create_directory(shared);
  ASSERT_EQ(::chmod(shared.c_str(), 01777), 0);
  fs::create_symlink(victim, link);
  fs::create_symlink(link, folder / "own");
  write_file_atomic(link, "own links are followed");
  ASSERT_EQ(::lchown(link.c_str(), stranger, stranger), 0);
  for (const std::string& path : {link, folder / "own"}) {
    EXPECT_THAT(error_of([&] { write_file_atomic(path, "after"); }, ErrorKind::input),
                HasSubstr(link + " is a link that another user put"));
    EXPECT_THAT(error_of([&] { refuse_foreign_links(path); }, ErrorKind::input), HasSubstr("cannot open " + path));
  }
  EXPECT_EQ(read_text(victim), "own links are followed");
  ASSERT_EQ(::chown(shared.c_str(), stranger, stranger), 0);
  write_file_atomic(link, "the folder's owner is trusted");
  ASSERT_EQ(::chown(shared.c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(shared.c_str(), 0755), 0);
  write_file_atomic(link, "as in a folder that is not shared");
  EXPECT_EQ(read_text(victim), "as in a folder that is not shared");
}

TEST(OutputFile, FilesOfTheCacheReplaceLinks) {
  const TemporaryFolder folder;
  const std::string link = folder / "link", victim = folder / "victim";
  write_file_atomic(victim, "before");
  fs::create_symlink(victim, link);
  replace_file(link, "after");
  EXPECT_EQ(read_text(victim), "before");
  EXPECT_EQ(read_text(link), "after");
  EXPECT_FALSE(fs::is_symlink(link));
}

// A link is another user's where he made it, also to a file of one's own.
TEST(OutputFile, AnotherUsersLinkIsNoOwnFile) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make another user's link";
  constexpr uid_t stranger = 65'534;
  const TemporaryFolder folder;
  const std::string link = folder / "link", file = folder / "file";
  write_file_atomic(file, "mine");
  fs::create_symlink(file, link);
  EXPECT_TRUE(is_own_file(file));
  EXPECT_TRUE(is_own_file(link));
  ASSERT_EQ(::lchown(link.c_str(), stranger, stranger), 0);
  EXPECT_FALSE(is_own_file(link));
  ASSERT_EQ(::lchown(link.c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(file.c_str(), stranger, stranger), 0);
  EXPECT_FALSE(is_own_file(file));
  EXPECT_FALSE(is_own_file(link));
  EXPECT_FALSE(is_own_file(folder.path())) << "a folder";
  EXPECT_FALSE(is_own_file(folder / "none"));
}

// A folder on the way may be the link, also behind a link of one's own.
TEST(OutputFile, DoesNotFollowAnotherUsersLinkToAFolder) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make another user's link";
  constexpr uid_t stranger = 65'534;
  const TemporaryFolder folder;
  const std::string shared = folder / "shared", link = shared + "/link", real = folder / "real";
  fs::create_directory(shared);
  fs::create_directory(real);
  ASSERT_EQ(::chmod(shared.c_str(), 01777), 0);
  fs::create_symlink("../real", link);
  fs::create_symlink("shared/link", folder / "own");
  write_file_atomic(link + "/file", "own links are followed");
  EXPECT_EQ(read_text(real + "/file"), "own links are followed");
  ASSERT_EQ(::lchown(link.c_str(), stranger, stranger), 0);
  for (const std::string& path : {link + "/file", folder / "own/file", link + "/../real/file"}) {
    EXPECT_THAT(error_of([&] { write_file_atomic(path, "after"); }, ErrorKind::input), HasSubstr("is a link that another user put"));
    EXPECT_THAT(error_of([&] { make_directories(path + "s/deep"); }, ErrorKind::input), HasSubstr("is a link that another user put"));
  }
  EXPECT_THAT(error_of([&] { make_directories(link); }, ErrorKind::input), HasSubstr(link + " is a link that another user put"));
  EXPECT_EQ(read_text(real + "/file"), "own links are followed");
  make_directories(real + "/a/b/");
  EXPECT_TRUE(fs::is_directory(real + "/a/b"));
}

TEST(OutputFile, APipeIsWrittenTo) {
  const TemporaryFolder folder;
  const std::string path = folder / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const FileDescriptor reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  write_file_atomic(path, "text");
  EXPECT_EQ(read_from(reader.get()), "text");
  EXPECT_TRUE(fs::is_fifo(path));
}

// A redirected output is a regular file behind its name, to which more is written before and after.
TEST(OutputFile, ADescriptorOfThisProcessIsWrittenToWhereItStands) {
  const TemporaryFolder folder;
  const FileDescriptor file(::open((folder / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::write(file.get(), "before ", 7), 7);
  const std::string name = "/proc/self/fd/" + std::to_string(file.get());
  fs::create_symlink(name, folder / "link");
  write_file_atomic(name, "first ");
  write_file_atomic(folder / "link", "second ");
  ASSERT_EQ(::write(file.get(), "after", 5), 5);
  EXPECT_EQ(read_text(folder / "file"), "before first second after");
  EXPECT_EQ(error_of([] { write_file_atomic("/dev/fd/1023", ""); }, ErrorKind::input), "cannot write /dev/fd/1023: Bad file descriptor");
}

TEST(OutputFile, ADeviceStaysOne) {
  const TemporaryFolder folder;
  const std::string null = folder / "null", full = folder / "full";
  if (::mknod(null.c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0 || ::mknod(full.c_str(), S_IFCHR | 0666, makedev(1, 7)) != 0)
    GTEST_SKIP() << "no device can be made here";
  if (!FileDescriptor(::open(null.c_str(), O_WRONLY | O_CLOEXEC)).valid()) GTEST_SKIP() << "no device can be used in " << folder.path();
  write_file_atomic(null, "text");
  EXPECT_TRUE(fs::is_character_file(null));
  EXPECT_EQ(error_of([&] { write_file_atomic(full, "text"); }, ErrorKind::input), "cannot write " + full + ": No space left on device");
  EXPECT_TRUE(fs::is_character_file(full));
  EXPECT_EQ(files_in(folder), 2U);
}

}  // namespace
}  // namespace deepgap
