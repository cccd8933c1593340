// Windows of a GPU at its power limit, where batches take longer and shorter in swings of about a second: by formula, and out of
// recordings of two minutes, against the mean of the minute that begins with the window. With and without a warm-up at the limit before.
#include "recorded.h"

#include "simulated_run.h"

#include "scenario/stopping.h"
#include "scenario/stopping/stretches.h"
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

Seen look(const std::function<double(double now)>& batch_s, Nanoseconds before, Nanoseconds length) {
  Nanoseconds now = 0;
  const auto next = [&] {
    const auto took = static_cast<Nanoseconds>(batch_s(static_cast<double>(now) / 1e9) * 1e9);
    const Timing timing{0, now, now, now + took, 1, Status::ok};
    now += took;
    return timing;
  };
  std::vector<Timing> warmed, window;
  while (now < before) warmed.push_back(next());
  StoppingSettings settings;
  settings.name = "duration";
  settings.duration = length;
  const auto rule = make_stopping(settings);
  const Nanoseconds begin = now;
  int64_t batches = 0;
  for (; static_cast<double>(now - begin) < minute_s * 1e9; ++batches) {
    const Timing timing = next();
    if (rule->state() != Stopping::State::more) continue;
    rule->add(std::span(&timing, 1));
    window.push_back(timing);
  }
  Estimate throughput = rule->throughput();
  if (const auto found = scatter_of_stretches(warmed, window)) set_interval(*found, throughput);
  return {throughput, rule->verdict(), static_cast<double>(batches) * 1e9 / static_cast<double>(now - begin)};
}

// A row for windows of 2 s, another where 8 s before them are known, and one for windows of 10 s. `batch_s`: of a new series.
void print_rows(const std::string& name, int series, const std::function<std::function<double(double)>()>& batch_s) {
  struct Length {
    double before_s;
    Nanoseconds window;
  };
  for (const Length length : {Length{0, 2 * second}, Length{8.2, 2 * second}, Length{0, 10 * second}}) {
    int covered = 0, unsteady = 0;
    std::vector<double> widths, off;
    for (int i = 0; i < series; ++i) {
      const Seen seen = look(batch_s(), static_cast<Nanoseconds>(length.before_s * 1e9), length.window);
      covered += holds(seen.window, seen.of_minute) ? 1 : 0;
      unsteady += seen.verdict.verdict == Verdict::unstable ? 1 : 0;
      const bool has_both = seen.window.low && seen.window.high;
      widths.push_back(has_both ? (*seen.window.high - *seen.window.low) / seen.window.value * 100 : 1e9);
      off.push_back(std::abs(seen.window.value / seen.of_minute - 1) * 100);
    }
    const auto narrow = std::count_if(widths.begin(), widths.end(), [](double width) { return width <= 2; });
    fmt::print("| {} | {:g} | {} | {:.1f} | {:.1f} | {:.2f} | {:.2f} | {:.1f} |\n", name, length.before_s, length.window / second,
               percent(covered, series), percent(static_cast<int>(narrow), series), median_of(widths), median_of(off),
               percent(unsteady, series));
    std::fflush(stdout);
  }
}

// The recorded times between completions, from a place on that 8 s and a minute follow.
std::function<double(double)> from_somewhere(const std::vector<double>& batches, Random& random) {
  double left = 0;
  size_t last = batches.size();
  while (last > 0 && left < minute_s + 9) left += batches[--last];
  auto place = std::make_shared<size_t>(std::uniform_int_distribution<size_t>(0, last)(random));
  return [&batches, place](double) { return batches[(*place)++ % batches.size()]; };
}

struct Recording {
  std::string name;
  std::vector<double> batches;
};

std::vector<Recording> recordings() {
  std::vector<Recording> found;
  for (const char* file : {"/resnet50-h100-power-limit.db", "/resnet50-h200-power-limit.db"}) {
    const Store store(std::string(DEEPGAP_RECORDED) + file, Store::Mode::read);
    store.each([&](Record&& record) {
      Recording& recording = found.emplace_back(Recording{record.study, {}});
      const std::vector<Timing> timings = store.timings(record.record_id);
      for (size_t i = 1; i < timings.size(); ++i)
        recording.batches.push_back(static_cast<double>(timings[i].end - timings[i - 1].end) / 1e9);
    });
  }
  return found;
}

}  // namespace

void print_power_windows(int series) {
  fmt::print("\nWindows of a GPU at its power limit, against the minute that begins with them, {} a row\n", series);
  fmt::print(
      "| batches | at the limit before, s | window, s | covers the minute, % | interval at most 2 % wide, % | its width, % (median) | off "
      "by, % (median) | not steady, % |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  Random random(23'000);
  for (const double share : {0.01, 0.03, 0.1}) {
    for (const double period : {0.3, 1.0})
      print_rows(fmt::format("swing by {:g} %, {:g} s each", share * 100, period), series,
                 [&] { return swings_source(random, 0.005, share, period).next; });
  }
  for (const Recording& recording : recordings())
    print_rows("recorded: " + recording.name, series, [&] { return from_somewhere(recording.batches, random); });
}

}  // namespace deepgap
