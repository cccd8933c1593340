#include "run/window_note.h"

#include "base/test_error.h"
#include "worker/fake_rules.h"

#include <gmock/gmock.h>

namespace deepgap {
namespace {

Job job_of(const std::string& rate, Nanoseconds duration, const std::string& bound = "p99=15ms") {
  Job job;
  job.point.scenario = "server";
  job.point.options = {{"rate", rate}};
  if (!bound.empty()) job.point.options["bound"] = bound;
  job.stopping.name = "duration";
  job.stopping.duration = duration;
  return job;
}
constexpr Nanoseconds second = 1'000'000'000;

TEST(WindowNote, SaysThatAWindowGrows) {
  EXPECT_EQ(window_note(job_of("20", second)),
            "20 queries a second give about 20 in 1 s, but the SLO p99=15ms needs at least 459: the window is 30 s long");
  EXPECT_EQ(window_note(job_of("500", second)), "");
  Job unasked = job_of("30", second);
  unasked.stopping = {};
  EXPECT_THAT(window_note(unasked),
              testing::HasSubstr("about 300 in 10 s, but the SLO p99=15ms needs at least 459: the window is 22.9 s long"));
}

TEST(WindowNote, AScheduleIsNoLongerThanItsBudget) {
  Job unasked = job_of("20", second, "");
  unasked.stopping = {};
  EXPECT_EQ(scheduled_window(unasked), 10 * second);
  unasked.stopping.budget = 3 * second;
  EXPECT_EQ(scheduled_window(unasked), 3 * second);
  unasked.point.options["bound"] = "p99=15ms";
  EXPECT_EQ(scheduled_window(unasked), 3 * second) << "nor does it grow beyond";
  unasked.point.scenario = "batch";
  unasked.point.options = {};
  EXPECT_EQ(scheduled_window(unasked), std::nullopt);
}

TEST(WindowNote, SaysThatTheBudgetIsTooShort) {
  EXPECT_EQ(window_note(job_of("1", second)),
            "1 queries a second give about 1 in 1 s, but the SLO p99=15ms needs at least 459: it will be inconclusive after the budget "
            "of 30 s; "
            "raise the rate, or give --budget 689s");
}

TEST(WindowNote, RefusesARateThatBringsFewerThanTwo) {
  EXPECT_EQ(error_of([] { window_note(job_of("0.5", second, "")); }),
            "a rate of 0.5 a second makes 0.5 queries in a window of 1 s: measure for 4 s at least (--duration), or raise the rate");
  EXPECT_THROW(window_note(job_of("3", second / 2, "")), Error);
  EXPECT_EQ(window_note(job_of("4", second / 2, "")), "");
  EXPECT_THROW(window_note(job_of("0.05", second)), Error) << "grown to the budget it has no two either";
  Job tenant = job_of("1", second);
  tenant.point.options["tenant"] = "1/2";
  EXPECT_THROW(window_note(tenant), Error) << "a tenant's window does not grow";
}

TEST(WindowNote, IsSilentOfWhatHasItsOwnRules) {
  for (const char* option : {"peak", "fake_rules"}) {
    Job job = job_of("1", second);
    job.point.options[option] = option == std::string("peak") ? "search" : "on";
    EXPECT_EQ(window_note(job), "") << option;
  }
  Job counted = job_of("1", second);
  counted.stopping.name = "counts";
  EXPECT_EQ(window_note(counted), "");
}

}  // namespace
}  // namespace deepgap
