#include "scenario/stopping/stretches.h"

#include "stats/interval.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace deepgap {
namespace {

constexpr Nanoseconds longest_stretch = 2'000'000'000, shortest_stretch = 1'000'000'000;
constexpr size_t fewest_stretches = 4;
constexpr std::ptrdiff_t fewest_completions = 10;

struct Answered {
  Nanoseconds end = 0;
  double items = 0;
};

std::vector<Answered> completions_of(std::span<const Timing> timings) {
  std::vector<Answered> completions;
  completions.reserve(timings.size());
  for (const Timing& timing : timings) completions.push_back({timing.end, static_cast<double>(timing.samples)});
  std::sort(completions.begin(), completions.end(), [](const Answered& a, const Answered& b) { return a.end < b.end; });
  return completions;
}

Nanoseconds length_of(const std::vector<Answered>& completions) {
  return completions.empty() ? 0 : completions.back().end - completions.front().end;
}

// Adds the throughputs of stretches that end with the last completion and lie one before the other. From completion to completion, since
// one more or less in a stretch would be scatter that is not there. Returns false where a stretch has too few.
bool add_stretches(const std::vector<Answered>& completions, Nanoseconds length, std::vector<double>& throughputs) {
  const auto after = [](Nanoseconds time, const Answered& completion) { return time < completion.end; };
  auto last = completions.end() - 1;
  while (last->end - completions.front().end >= length) {
    const auto first = std::upper_bound(completions.begin(), last, last->end - length, after) - 1;
    if (last - first < fewest_completions) return false;
    double items = 0;
    for (auto each = first + 1; each <= last; ++each) items += each->items;
    throughputs.push_back(items * 1e9 / static_cast<double>(last->end - first->end));
    last = first;
  }
  return true;
}

}  // namespace

std::optional<Stretches> scatter_of_stretches(std::span<const Timing> before, std::span<const Timing> window) {
  const std::vector<Answered> earlier = completions_of(before), own = completions_of(window);
  const Nanoseconds length = std::min(longest_stretch, length_of(own));
  if (length < shortest_stretch || length_of(earlier) < length_of(own)) return std::nullopt;
  std::vector<double> throughputs;
  if (!add_stretches(own, length, throughputs) || !add_stretches(earlier, length, throughputs)) return std::nullopt;
  const auto scatter = estimate_mean(throughputs);
  if (!scatter || throughputs.size() < fewest_stretches) return std::nullopt;
  const auto count = static_cast<double>(throughputs.size());
  const double of_window = scatter->variance_of_mean * count * static_cast<double>(length) / static_cast<double>(length_of(own));
  return Stretches{student_factor(count - 1) * std::sqrt(of_window) / scatter->mean, static_cast<int64_t>(throughputs.size()), length};
}

void set_interval(const Stretches& stretches, Estimate& throughput) {
  throughput.low = throughput.value * (1 - stretches.relative_half_width);
  throughput.high = throughput.value * (1 + stretches.relative_half_width);
}

}  // namespace deepgap
