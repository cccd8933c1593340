#include "base/confine.h"

#include "base/temporary_folder.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>
#include <thread>

namespace deepgap {
namespace {

constexpr int got_through = 77;

// Returns how a confined child of this process ends: the status of waitpid(). The child must not throw, and returns its exit code.
template <typename Act>
int confined(const Confinement& confinement, const Act& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    confine(confinement);
    ::_exit(act());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

int exit_code(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status); }
// errno of a call, or got_through.
int error_of_call(long result) { return result >= 0 ? got_through : errno; }

// Prints why and skips where the wall is missing.
#define REQUIRE_WALL(missing)                                                 \
  if (const std::string why = walls_of_this_kernel().missing; !why.empty()) { \
    GTEST_SKIP() << "left out: " << #missing << ": " << why;                  \
  }

bool sanitized() { return walls_of_this_kernel().no_landlock == "not under a sanitizer"; }

TEST(Confine, MakesNoSocket) {
  REQUIRE_WALL(no_seccomp)
  for (const int family : {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK}) {
    EXPECT_EQ(exit_code(confined({}, [&] { return error_of_call(::socket(family, SOCK_DGRAM, 0)); })), EPERM) << family;
  }
  int pair[2];
  EXPECT_EQ(exit_code(confined({}, [&] { return error_of_call(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair)); })), EPERM);
}

TEST(Confine, RunsNoProgramAndSignalsNobody) {
  REQUIRE_WALL(no_seccomp)
  EXPECT_EQ(exit_code(confined({},
                               [] {
                                 char name[] = "true";
                                 char* arguments[] = {name, nullptr};
                                 return error_of_call(::execv("/bin/true", arguments));
                               })),
            EPERM);
  EXPECT_EQ(exit_code(confined({}, [] { return error_of_call(::kill(::getppid(), 0)); })), EPERM);
}

TEST(Confine, WritesInItsFoldersAlone) {
  REQUIRE_WALL(no_landlock)
  const TemporaryFolder mine, other;
  std::ofstream(other / "there") << "text";
  const auto open_for = [](const std::string& path, int flags) { return error_of_call(::open(path.c_str(), flags, 0600)); };
  const Confinement confinement{.writable = {mine.path(), "/nowhere"}};
  EXPECT_EQ(exit_code(confined(confinement, [&] { return open_for(mine / "new", O_WRONLY | O_CREAT); })), got_through);
  EXPECT_EQ(exit_code(confined(confinement, [&] { return error_of_call(::rename((mine / "new").c_str(), (mine / "b").c_str())); })),
            got_through);
  EXPECT_EQ(exit_code(confined(confinement, [&] { return open_for(other / "there", O_RDONLY); })), got_through) << "it may read";
  EXPECT_EQ(exit_code(confined(confinement, [&] { return open_for(other / "there", O_WRONLY); })), EACCES);
  EXPECT_EQ(exit_code(confined(confinement, [&] { return open_for(other / "new", O_WRONLY | O_CREAT); })), EACCES);
  EXPECT_EQ(exit_code(confined(confinement, [&] { return error_of_call(::unlink((other / "there").c_str())); })), EACCES);
  EXPECT_EQ(exit_code(confined(confinement, [&] { return error_of_call(::mkdir((other / "d").c_str(), 0700)); })), EACCES);
  EXPECT_EQ(exit_code(confined(confinement, [&] { return open_for("/dev/null", O_WRONLY); })), got_through);
  EXPECT_EQ(exit_code(confined({}, [&] { return open_for(mine / "b", O_WRONLY); })), EACCES) << "no folder at all";
  EXPECT_EQ(exit_code(confined(confinement,
                               [&] {
                                 // What is confined once stays so, whatever it asks for later.
                                 confine({.writable = {other.path()}});
                                 return open_for(other / "there", O_WRONLY);
                               })),
            EACCES);
}

TEST(Confine, MemoryIsLimited) {
  if (sanitized()) GTEST_SKIP() << "left out under a sanitizer, which maps terabytes for itself";
  const auto allocate = [](size_t bytes) {
    return confined({.data_bytes = uint64_t{256} << 20}, [&] {
      try {
        ::operator delete(::operator new(bytes));
        return got_through;
      } catch (const std::bad_alloc&) {
        return 1;
      }
    });
  };
  EXPECT_EQ(exit_code(allocate(size_t{512} << 20)), 1);
  EXPECT_EQ(exit_code(allocate(size_t{16} << 20)), got_through);
}

TEST(Confine, ALoopForEverIsEnded) {
  if (sanitized()) GTEST_SKIP() << "left out under a sanitizer: nothing is limited there";
  const int status = confined({.cpu_seconds = 1}, [] {
    volatile bool more = true;
    while (more) {
    }
    return 0;
  });
  EXPECT_EQ(exit_code(status), -SIGXCPU);
}

TEST(Confine, DescriptorsAreCounted) {
  if (sanitized()) GTEST_SKIP() << "left out under a sanitizer: nothing is limited there";
  EXPECT_EQ(exit_code(confined({.descriptors = 32},
                               [] {
                                 for (int opened = 0; opened < 100; ++opened) {
                                   if (::open("/dev/null", O_RDONLY) < 0) return errno == EMFILE && opened <= 32 ? 1 : 2;
                                 }
                                 return got_through;
                               })),
            1);
}

TEST(Confine, FilesHaveASize) {
  if (sanitized()) GTEST_SKIP() << "left out under a sanitizer: nothing is limited there";
  const TemporaryFolder folder;
  const auto write = [&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const std::string bytes(5000, 'x');
    const int file = ::open((folder / "f").c_str(), O_WRONLY | O_CREAT, 0600);
    size_t written = 0;
    for (ssize_t count = 1; count > 0 && written<100'000; written += count> 0 ? static_cast<size_t>(count) : 0)
      count = ::write(file, bytes.data(), bytes.size());
    return written == 10'000 && errno == EFBIG ? 1 : 2;
  };
  EXPECT_EQ(exit_code(confined({.file_bytes = 10'000, .writable = {folder.path()}}, write)), 1);
}

TEST(Confine, ThreadsStillStartAndAProgramStillEndsItself) {
  const auto threads = [] {
    int value = 0;
    std::thread([&] { value = 1; }).join();
    return value;
  };
  EXPECT_EQ(exit_code(confined({.file_bytes = reader_file_bytes, .descriptors = reader_descriptors}, threads)), 1);
  EXPECT_EQ(exit_code(confined({},
                               [] {
                                 ::signal(SIGABRT, SIG_DFL);
                                 std::abort();
                                 return 0;
                               })),
            -SIGABRT);
}

}  // namespace
}  // namespace deepgap
