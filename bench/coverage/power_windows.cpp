// Windows of a GPU at its power limit, where batches take longer and shorter in swings of about a second: by formula, and out of a
// recording of two minutes, against the mean of the minute that begins with the window.
#include "recorded.h"

#include "simulated_run.h"

#include "scenario/stopping.h"
#include "stats/test_sources.h"
#include "store/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace deepgap {
namespace {

constexpr Nanoseconds second = 1'000'000'000;
constexpr double minute_s = 60;

// A window of batches back to back, and what followed it until the minute was over.
struct Seen {
  Estimate window;
  WindowVerdict verdict;
  double of_minute = 0;  // items a second
};

Seen look(const std::function<double(double now)>& batch_s, Nanoseconds length) {
  StoppingSettings settings;
  settings.name = "duration";
  settings.duration = length;
  const auto rule = make_stopping(settings);
  Nanoseconds now = 0;
  int64_t batches = 0;
  for (; static_cast<double>(now) < minute_s * 1e9; ++batches) {
    const auto took = static_cast<Nanoseconds>(batch_s(static_cast<double>(now) / 1e9) * 1e9);
    const Timing timing{static_cast<uint64_t>(batches), now, now, now + took, 1, Status::ok};
    now += took;
    if (rule->state() == Stopping::State::more) rule->add(std::span(&timing, 1));
  }
  return {rule->throughput(), rule->verdict(), static_cast<double>(batches) * 1e9 / static_cast<double>(now)};
}

void print_row(const std::string& name, Nanoseconds length, int series, const std::function<Seen()>& see) {
  int covered = 0, unsteady = 0;
  std::vector<double> widths, off;
  for (int i = 0; i < series; ++i) {
    const Seen seen = see();
    covered += holds(seen.window, seen.of_minute) ? 1 : 0;
    unsteady += seen.verdict.verdict == Verdict::unstable ? 1 : 0;
    const bool has_both = seen.window.low && seen.window.high;
    widths.push_back(has_both ? (*seen.window.high - *seen.window.low) / seen.window.value * 100 : 1e9);
    off.push_back(std::abs(seen.window.value / seen.of_minute - 1) * 100);
  }
  const auto narrow = std::count_if(widths.begin(), widths.end(), [](double width) { return width <= 2; });
  fmt::print("| {} | {} | {:.1f} | {:.1f} | {:.2f} | {:.2f} | {:.1f} |\n", name, length / second, percent(covered, series),
             percent(static_cast<int>(narrow), series), median_of(widths), median_of(off), percent(unsteady, series));
  std::fflush(stdout);
}

// The recorded times between completions, from a place on that a minute follows.
std::function<double(double)> from_somewhere(const std::vector<double>& batches, Random& random) {
  double left = 0;
  size_t last = batches.size();
  while (last > 0 && left < minute_s) left += batches[--last];
  auto place = std::make_shared<size_t>(std::uniform_int_distribution<size_t>(0, last)(random));
  return [&batches, place](double) { return batches[(*place)++ % batches.size()]; };
}

std::vector<double> recorded_batches() {
  std::vector<double> batches;
  const Store store(DEEPGAP_RECORDED "/resnet50-h100-power-limit.db", Store::Mode::read);
  store.each([&](Record&& record) {
    const std::vector<Timing> timings = store.timings(record.record_id);
    for (size_t i = 1; i < timings.size(); ++i) batches.push_back(static_cast<double>(timings[i].end - timings[i - 1].end) / 1e9);
  });
  return batches;
}

}  // namespace

void print_power_windows(int series) {
  fmt::print("\nWindows of a GPU at its power limit, against the minute that begins with them, {} a row\n", series);
  fmt::print(
      "| batches | window, s | covers the minute, % | interval at most 2 % wide, % | its width, % (median) | off by, % (median) | not "
      "steady, "
      "% |\n| --- | --- | --- | --- | --- | --- | --- |\n");
  uint64_t seed = 23'000;
  for (const double share : {0.01, 0.03, 0.1}) {
    for (const double period : {0.3, 1.0}) {
      for (const Nanoseconds length : {2 * second, 10 * second}) {
        Random random(++seed);
        print_row(fmt::format("swing by {:g} %, {:g} s each", share * 100, period), length, series,
                  [&] { return look(swings_source(random, 0.005, share, period).next, length); });
      }
    }
  }
  const std::vector<double> batches = recorded_batches();
  for (const Nanoseconds length : {2 * second, 10 * second}) {
    Random random(++seed);
    print_row("recorded: ResNet-50 FP16, batch 256, an H100", length, series,
              [&] { return look(from_somewhere(batches, random), length); });
  }
}

}  // namespace deepgap
