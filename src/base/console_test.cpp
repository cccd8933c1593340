#include "base/console.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace deepgap {
namespace {

TEST(Console, what_nobody_can_read_is_dropped) {
  std::FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  say(full, "progress\n");
  EXPECT_EQ(std::ferror(full), 0) << "the next word is tried again";
  std::fclose(full);
  say(stderr, "");
}

TEST(Console, what_is_said_is_there_at_once) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* out = ::open_memstream(&text, &size);
  say(out, "a\n");
  EXPECT_STREQ(text, "a\n");
  std::fclose(out);
  ::free(text);
}

TEST(Console, closed_descriptors_are_taken_and_cannot_be_written) {
  EXPECT_EXIT(
      {
        ::close(1);
        ::close(2);
        hold_standard_descriptors();
        const bool both_fail = ::write(1, "x", 1) < 0 && ::write(2, "x", 1) < 0;
        ::_exit(both_fail && ::dup(0) > 2 ? 7 : 8);
      },
      testing::ExitedWithCode(7), "");
}

TEST(Console, a_closed_pipe_ends_as_by_its_signal) { EXPECT_EXIT(end_by_closed_pipe(), testing::KilledBySignal(SIGPIPE), ""); }

TEST(Console, PlusMinusFollowsTheLocale) {
  const auto shown_in = [](const char* locale) {
    ::setenv("LC_ALL", locale, 1);
    return for_locale("CI ±3 % (target ±1 %)");
  };
  EXPECT_EQ(shown_in("en_US.UTF-8"), "CI ±3 % (target ±1 %)");
  EXPECT_EQ(shown_in("C.utf8"), "CI ±3 % (target ±1 %)");
  EXPECT_EQ(shown_in("C"), "CI +/-3 % (target +/-1 %)");
  ::unsetenv("LC_ALL");
}

}  // namespace
}  // namespace deepgap
