#include "base/subprocess.h"

#include <deepgap/error.h>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

namespace deepgap {
namespace {

using namespace std::chrono_literals;

SubprocessOptions shell(const std::string& script) {
  SubprocessOptions options;
  options.program = "/bin/sh";
  options.arguments = {"sh", "-c", script};
  return options;
}

bool is_gone(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

TEST(Subprocess, reports_exit_code_and_output) {
  Subprocess child(shell("echo out; echo err >&2; exit 7"));
  const auto state = child.wait(5s);
  ASSERT_TRUE(state);
  EXPECT_EQ(state->code, 7);
  EXPECT_EQ(state->signal, 0);
  EXPECT_EQ(state->describe(), "exit code 7");
  EXPECT_EQ(child.output_tail(), "out\nerr\n");
}

TEST(Subprocess, reports_the_signal_that_killed_it) {
  Subprocess child(shell("kill -SEGV $$"));
  const auto state = child.wait(5s);
  ASSERT_TRUE(state);
  EXPECT_EQ(state->signal, SIGSEGV);
  EXPECT_EQ(state->describe(), "killed by SIGSEGV");
}

TEST(Subprocess, keeps_the_end_of_much_output_by_whole_lines) {
  SubprocessOptions options = shell("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done");
  options.output_tail_bytes = 100;
  Subprocess child(options);
  ASSERT_TRUE(child.wait(20s));
  const std::string tail = child.output_tail();
  EXPECT_LE(tail.size(), 100U);
  EXPECT_EQ(tail.substr(0, 5), "line ");
  EXPECT_NE(tail.find("line 19999\n"), std::string::npos);
}

TEST(Subprocess, wait_gives_up_and_a_kill_ends_it) {
  Subprocess child(shell("sleep 100"));
  EXPECT_FALSE(child.wait(30ms));
  child.send_signal(SIGKILL);
  const auto state = child.wait(5s);
  ASSERT_TRUE(state);
  EXPECT_EQ(state->signal, SIGKILL);
}

TEST(Subprocess, destructor_leaves_no_process) {
  pid_t pid = -1;
  {
    Subprocess child(shell("sleep 100"));
    pid = child.pid();
    EXPECT_FALSE(is_gone(pid));
  }
  EXPECT_TRUE(is_gone(pid));
}

TEST(Subprocess, a_program_that_is_not_there_is_an_error_with_its_reason) {
  SubprocessOptions options;
  options.program = "/nowhere/program";
  options.arguments = {"program"};
  try {
    Subprocess child(options);
    FAIL() << "started";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
    EXPECT_NE(std::string(error.what()).find("/nowhere/program: No such file"), std::string::npos) << error.what();
  }
}

TEST(Subprocess, channel_carries_bytes_both_ways) {
  SubprocessOptions options = shell("read word <&3; echo \"got $word\" >&3");
  options.channel = true;
  Subprocess child(options);
  ASSERT_EQ(::write(child.channel(), "hello\n", 6), 6);
  char buffer[64] = {};
  ASSERT_GT(::read(child.channel(), buffer, sizeof(buffer) - 1), 0);
  EXPECT_STREQ(buffer, "got hello\n");
  ASSERT_TRUE(child.wait(5s));
  EXPECT_EQ(::read(child.channel(), buffer, sizeof(buffer)), 0) << "the child's end is closed when it ended";
}

TEST(Subprocess, inherits_no_descriptor_but_its_own) {
  const int leak = ::fcntl(0, F_DUPFD, 50);  // without close-on-exec
  ASSERT_GE(leak, 50);
  for (bool channel : {false, true}) {
    SubprocessOptions options =
        shell("for f in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 50 51; do [ -e /proc/$$/fd/$f ] && echo $f; done; true");
    options.channel = channel;
    Subprocess child(options);
    ASSERT_TRUE(child.wait(5s));
    EXPECT_EQ(child.output_tail(), channel ? "0\n1\n2\n3\n" : "0\n1\n2\n");
  }
  ::close(leak);
}

TEST(Subprocess, leaks_no_descriptor_in_the_parent) {
  const auto count = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); };
  const auto before = count();
  for (int i = 0; i < 20; ++i) {
    SubprocessOptions options = shell("exit 0");
    options.channel = true;
    Subprocess child(options);
    child.wait(5s);
  }
  EXPECT_EQ(count(), before);
}

TEST(Subprocess, environment_is_added_and_replaced) {
  ::setenv("DEEPGAP_TEST_OLD", "old", 1);
  SubprocessOptions options = shell("echo $DEEPGAP_TEST_OLD $DEEPGAP_TEST_NEW");
  options.environment = {{"DEEPGAP_TEST_OLD", "replaced"}, {"DEEPGAP_TEST_NEW", "new"}};
  Subprocess child(options);
  child.wait(5s);
  EXPECT_EQ(child.output_tail(), "replaced new\n");
  ::unsetenv("DEEPGAP_TEST_OLD");
}

TEST(Subprocess, data_limit_holds) {
  SubprocessOptions options = shell("ulimit -d");
  options.data_bytes = uint64_t{512} << 20;
  Subprocess child(options);
  child.wait(5s);
  EXPECT_EQ(child.output_tail(), "524288\n");
}

TEST(Subprocess, limits_hold_until_they_are_lifted) {
  SubprocessOptions options = shell("ulimit -S -d; ulimit -S -t; read go <&3; ulimit -S -d; ulimit -S -t");
  options.data_bytes = uint64_t{512} << 20;
  options.cpu_seconds = 100;
  options.limits_are_lifted = options.channel = true;
  Subprocess child(options);
  Subprocess unlimited(shell("ulimit -S -d; ulimit -S -t"));
  const auto lines = [&] {
    const std::string output = child.output_tail();
    return std::count(output.begin(), output.end(), '\n');
  };
  while (lines() < 2) child.wait(1ms);
  child.lift_limits();
  ASSERT_EQ(::write(child.channel(), "\n", 1), 1);
  child.wait(5s);
  unlimited.wait(5s);
  EXPECT_EQ(child.output_tail(), "524288\n100\n" + unlimited.output_tail());
}

TEST(Subprocess, cpu_limit_ends_a_spinning_child) {
  SubprocessOptions options = shell("while :; do :; done");
  options.cpu_seconds = 1;
  Subprocess child(options);
  const auto state = child.wait(20s);
  ASSERT_TRUE(state);
  EXPECT_TRUE(state->signal == SIGXCPU || state->signal == SIGKILL) << state->describe();
}

TEST(Subprocess, is_in_a_process_group_of_its_own) {
  Subprocess child(shell("sleep 100"));
  EXPECT_EQ(::getpgid(child.pid()), child.pid());
}

// A parent that is killed cannot clean up: the kernel must.
TEST(Subprocess, child_dies_with_its_parent) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t middle = ::fork();
  if (middle == 0) {
    Subprocess child(shell("sleep 100"));
    const pid_t pid = child.pid();
    if (::write(ends[1], &pid, sizeof(pid)) != sizeof(pid)) ::_exit(1);
    ::pause();
  }
  pid_t grandchild = -1;
  ASSERT_EQ(::read(ends[0], &grandchild, sizeof(grandchild)), static_cast<ssize_t>(sizeof(grandchild)));
  EXPECT_FALSE(is_gone(grandchild));
  ::kill(middle, SIGKILL);
  ::waitpid(middle, nullptr, 0);
  // Where nobody reaps orphans it stays a zombie, which is dead too.
  const std::string status = "/proc/" + std::to_string(grandchild) + "/stat";
  bool dead = false;
  for (int i = 0; i < 500 && !dead; ++i) {
    std::string text;
    try {
      text = read_text(status);
    } catch (const Error&) {
      dead = true;
    }
    dead = dead || text.find(") Z ") != std::string::npos;
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_TRUE(dead);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace deepgap
