// Shows what CUPTI's range profiler does on this machine, call by call: `gpu_counters [DEVICE] [WAY]`. Prints the result code of every
// call, what kernels with known counts were counted as in each combination of ranges and replays, and how long each took. A row that ends
// the process ends only its child.
#include "cuda/driver.h"
#include "cuda/objects.h"
#include "kernels/chip_metrics.h"
#include "kernels/counter_host.h"
#include "kernels/counter_table.h"
#include "kernels/known_work.h"
#include "kernels/range_profiler.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <string>

namespace deepgap {
namespace {

using WallClock = std::chrono::steady_clock;

double ms_since(WallClock::time_point begin) { return std::chrono::duration<double, std::milli>(WallClock::now() - begin).count(); }

// CUPTI's own functions, and how often each answered what: in order, as far as it answers something new.
const cupti::Api* real = nullptr;
std::map<std::string, int> calls;

cupti::Result told(const char* name, cupti::Result result, double ms) {
  const std::string line = fmt::format("{} -> {}", name, result);
  if (++calls[line] <= 2 || result != 0) {
    const char* text = nullptr;
    if (result != 0) real->cuptiGetResultString(result, &text);
    fmt::print("    {} {} ({:.1f} ms)\n", line, text == nullptr ? "" : text, ms);
    std::fflush(stdout);
  }
  return result;
}

cupti::Api logged(const cupti::Api& api) {
  real = &api;
  cupti::Api table = api;
#define DEEPGAP_LOGGED(name, parameters)               \
  if (api.name != nullptr)                             \
    table.name = [](void* params) {                    \
      const auto begin = WallClock::now();             \
      const cupti::Result result = real->name(params); \
      return told(#name, result, ms_since(begin));     \
    };
  DEEPGAP_CUPTI_PROFILER_FUNCTIONS(DEEPGAP_LOGGED)
#undef DEEPGAP_LOGGED
  return table;
}

struct Way {
  const char* name;
  RangeOf of;
  ReplayBy by;
};
constexpr Way ways[] = {{"marked ranges, replayed by us", RangeOf::marks, ReplayBy::caller},
                        {"a range a kernel, replayed by us", RangeOf::kernels, ReplayBy::caller},
                        {"a range a kernel, replayed by CUPTI", RangeOf::kernels, ReplayBy::cupti},
                        {"marked ranges, replayed by CUPTI", RangeOf::marks, ReplayBy::cupti}};

void print(const MetricGroup& group, const Counted& counted) {
  fmt::print("  {} ranges, {} passes\n", counted.ranges.size(), counted.passes);
  for (const std::string& metric : group.metrics) {
    fmt::print("  {:<58}", metric);
    for (const RangeCounts& range : counted.ranges) fmt::print(" {:>14.6g}", range.values.at(metric));
    fmt::print("\n");
  }
}

void count(int device, const Way& way) {
  const cuda::DeviceContext context(device);
  const auto known = known_work(device);
  for (const KnownCount& one : known->counts()) fmt::print("  known: {} = {:.10g} in range {}\n", one.what, one.expected, one.range);
  const cupti::Api api = logged(cupti::api());
  RangeProfiler profiler(api, device);
  const auto groups = counter_groups_of(cuda::device_facts(device).architecture(), supported_metrics(cupti::api(), profiler.chip()));
  for (const MetricGroup& group : groups) {
    fmt::print("  -- {}: {} metrics on {}\n", group.what, group.metrics.size(), profiler.chip());
    calls.clear();
    const auto begin = WallClock::now();
    try {
      print(group, profiler.count(group.metrics, way.of, way.by, known->ranges() + 12,
                                  [&](const RangeProfiler::Mark& mark) { known->run(mark); }));
    } catch (const Error& error) {
      fmt::print("  refused: {}\n", error.what());
    }
    fmt::print("  {:.0f} ms\n", ms_since(begin));
  }
}

int in_child(int device, const Way& way) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 0;
    try {
      count(device, way);
    } catch (const Error& error) {
      fmt::print("  error: {}\n", error.what());
      code = 1;
    }
    std::fflush(stdout);
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  fmt::print("  child: exit {} signal {}\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  return 0;
}

}  // namespace
}  // namespace deepgap

int main(int argc, char** argv) {
  const int device = argc > 1 ? std::atoi(argv[1]) : 0;
  const int only = argc > 2 ? std::atoi(argv[2]) : -1;
  int index = 0;
  for (const deepgap::Way& way : deepgap::ways) {
    if (only >= 0 && only != index++) continue;
    fmt::print("== {}\n", way.name);
    deepgap::in_child(device, way);
  }
  return 0;
}
