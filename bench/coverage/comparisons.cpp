#include "comparisons.h"

#include "simulated_run.h"

#include "stats/compare.h"
#include "stats/multiple.h"
#include "stats/repeats_ratio.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace deepgap {
namespace {

double percent(double share) { return 100 * share; }

// k repeats of one thing: its speed, what each block does to all, what each process does to one; measured within 0.3 %, and said to be so
// many times less well known.
struct Scatter {
  double block = 0, process = 0.01, overstated = 1;
};
using Repeats = std::vector<RepeatValue>;

std::vector<Repeats> measured(Random& random, const std::vector<double>& truths, size_t k, const Scatter& scatter) {
  constexpr double within = 0.003;
  std::normal_distribution<double> normal;
  std::vector<Repeats> all(truths.size());
  for (size_t i = 0; i < k; ++i) {
    const double block = std::exp(scatter.block * normal(random));
    for (size_t c = 0; c < truths.size(); ++c) {
      const double value = truths[c] * block * std::exp(scatter.process * normal(random) + within * normal(random));
      all[c].push_back({i, value, value * value * within * within * scatter.overstated * scatter.overstated});
    }
  }
  return all;
}

std::vector<MeanEstimate> means_of(const Repeats& repeats) {
  std::vector<MeanEstimate> means;
  for (const RepeatValue& repeat : repeats) means.push_back({repeat.value, repeat.variance, 31, 1000});
  return means;
}

// Computes the former estimate: two means over repeats (one repeat: within it), unpaired; the scatter within them is always a floor.
MeanEstimate mean_before(const Repeats& repeats) {
  MeanEstimate mean = estimate_over_repeats(means_of(repeats))->estimate;
  double within = 0;
  for (const RepeatValue& repeat : repeats) within += repeat.variance;
  const auto k = static_cast<double>(repeats.size());
  mean.variance_of_mean = std::max(mean.variance_of_mean, within / (k * k));
  return mean;
}

bool told_before(const Repeats& a, const Repeats& b, double* half_width = nullptr) {
  const auto ratio = estimate_ratio(mean_before(a), mean_before(b));
  if (half_width) *half_width = std::log(ratio->interval.high / ratio->interval.low) / 2;
  return ratio->interval.low > 1 || ratio->interval.high < 1;
}

bool told_now(const Repeats& a, const Repeats& b, double confidence = default_confidence, double* half_width = nullptr) {
  const auto ratio = ratio_of_repeats(a, b);
  if (!ratio->known()) return false;
  const Interval interval = ratio->interval(confidence);
  if (half_width) *half_width = std::log(interval.high / interval.low) / 2;
  return interval.low > 1 || interval.high < 1;
}

struct Told {
  double before = 0, now = 0, width_before = 0, width_now = 0;
};

Told tell(uint64_t seed, int series, double truth, size_t k, const Scatter& scatter) {
  Random random(seed);
  Told told;
  std::vector<double> before, now;
  for (int i = 0; i < series; ++i) {
    const auto both = measured(random, {truth, 1}, k, scatter);
    double width = 0;
    told.before += told_before(both[0], both[1], &width) ? 1.0 / series : 0;
    before.push_back(width);
    width = 0;
    told.now += told_now(both[0], both[1], default_confidence, &width) ? 1.0 / series : 0;
    now.push_back(width);
  }
  told.width_before = median_of(before);
  told.width_now = median_of(now);
  return told;
}

}  // namespace

void print_repeats(int series) {
  fmt::print("\nA Point of five repeats at the windows that the planner chooses, processes 1 % apart, {} series a row\n", series);
  fmt::print("| series | covers, % | median half-width, % | time, s |\n| --- | --- | --- | --- |\n");
  const std::vector<std::pair<std::string, std::function<QuerySource(Random&)>>> rows{
      {"white, cv 10 %", [](Random& r) { return white_source(r, 0.005, 0.1); }},
      {"AR(1) 0.9, cv 5 %", [](Random& r) { return ar1_source(r, 0.005, 0.05, 0.9); }},
      {"AR(1) 0.99, cv 5 %", [](Random& r) { return ar1_source(r, 0.005, 0.05, 0.99); }},
      {"AR(1) 0.9, cv 2 %, 50 ms", [](Random& r) { return ar1_source(r, 0.05, 0.02, 0.9); }},
      {"modes 10 % apart, dwell 1 s", [](Random& r) { return modes_source(r, 0.005, 0.1, 1); }},
      {"1 % five times as long", [](Random& r) { return spikes_source(r, 0.005, 100, 5); }},
      {"1 % five times as long, 50 ms", [](Random& r) { return spikes_source(r, 0.05, 100, 5); }},
      {"interference, 0.1 s of every 1 s, twice", [](Random& r) { return interference_source(r, 0.005, 1, 0.1, 2); }},
      {"warming +20 %, tau 2 s, 10 ms", [](Random& r) { return warming_source(r, 0.01, 0.2, 2); }},
  };
  uint64_t seed = 3000;
  for (const auto& [name, make] : rows) {
    Random random(++seed);
    int covered = 0;
    std::vector<double> widths, times;
    for (int i = 0; i < series; ++i) {
      StoppingSettings settings;
      settings.duration = 2'000'000'000;  // as plan/expand.cpp shares 10 s out among five
      std::vector<MeanEstimate> means;
      double truth = 0, time = 0;
      for (int repeat = 0; repeat < 5; ++repeat) {
        const QuerySource source = in_a_process(random, make(random), 0.01);
        truth = 1 / source.mean;
        const SimulatedRun run = simulate_run(source, settings);
        means.push_back(as_repeat(run.throughput));
        time += run.warmup_s + run.window_s;
      }
      const Interval interval = estimate_over_repeats(means)->estimate.interval();
      covered += interval.low <= truth && truth <= interval.high ? 1 : 0;
      widths.push_back(interval.half_width() / truth * 100);
      times.push_back(time);
    }
    fmt::print("| {} | {:.1f} | {:.2f} | {:.0f} |\n", name, 100.0 * covered / series, median_of(widths), median_of(times));
    std::fflush(stdout);
  }
}

void print_comparisons(int series) {
  fmt::print("\nTwo equal things called different, %, {} series a cell\n", series);
  fmt::print(
      "| processes apart | k=1 unpaired | k=1 | k=3 unpaired | k=3 | k=5 unpaired | k=5 |\n| --- | --- | --- | --- | --- | --- | --- "
      "|\n");
  uint64_t seed = 4000;
  for (const double scatter : {0.005, 0.01, 0.02, 0.05}) {
    std::string line = fmt::format("| {:.1f} %", percent(scatter));
    for (const size_t k : {1u, 3u, 5u}) {
      const Told told = tell(++seed, series, 1, k, {0, scatter});
      line += fmt::format(" | {:.1f} | {:.1f}", percent(told.before), percent(told.now));
    }
    fmt::print("{} |\n", line);
  }
  fmt::print(
      "\nBlocks 5 % apart, processes 1 %: what pairs make of it\n| true difference | k | unpaired: half-width, % | half-width, % | "
      "unpaired: detected, "
      "% | "
      "detected, % |\n"
      "| --- | --- | --- | --- | --- | --- |\n");
  for (const auto& [truth, k] : {std::pair(1.0, size_t{3}), {1.0, 5}, {1.01, 5}, {1.02, 5}, {1.05, 5}, {1.02, 10}}) {
    const Told told = tell(++seed, series, truth, k, {0.05, 0.01});
    fmt::print("| {:.0f} % | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n", percent(truth - 1), k, percent(told.width_before),
               percent(told.width_now), percent(told.before), percent(told.now));
  }
  fmt::print(
      "\nFive repeats, processes 0.3 % apart, whose windows say that they are less well known than they are, as where each drifts alike\n"
      "| overstated | true difference | unpaired: half-width, % | half-width, % | unpaired: detected, % | detected, % |\n"
      "| --- | --- | --- | --- | --- | --- |\n");
  for (const auto& [overstated, truth] : {std::pair(1.0, 1.0), {1.0, 1.02}, {10.0, 1.0}, {10.0, 1.02}, {100.0, 1.0}, {100.0, 1.02}}) {
    const Told told = tell(++seed, series, truth, 5, {0, 0.003, overstated});
    fmt::print("| {:.0f} times | {:.0f} % | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n", overstated, percent(truth - 1),
               percent(told.width_before), percent(told.width_now), percent(told.before), percent(told.now));
  }
  fmt::print(
      "\nPower that the planner states: repeats for a difference of 2 % after a pilot of 10, then detected (80 % intended)\n"
      "| processes apart | repeats, median | detected, % |\n| --- | --- | --- |\n");
  for (const double scatter : {0.005, 0.01, 0.02}) {
    Random random(++seed);
    std::vector<double> needed;
    int told = 0;
    for (int i = 0; i < series; ++i) {
      const auto pilot = measured(random, {1, 1}, 10, {0.05, scatter});
      const size_t k = repeats_needed(*ratio_of_repeats(pilot[0], pilot[1]), 0.02);
      needed.push_back(static_cast<double>(k));
      const auto both = measured(random, {1.02, 1}, k, {0.05, scatter});
      told += told_now(both[0], both[1]) ? 1 : 0;
    }
    fmt::print("| {:.1f} % | {:.0f} | {:.1f} |\n", percent(scatter), median_of(needed), 100.0 * told / series);
  }
}

void print_winners(int series) {
  fmt::print(
      "\nThe best of equal ones called better than any of them, %, {} series a cell\n| engines | k | simpler rule | called better |\n| --- "
      "| --- | --- | "
      "--- |\n",
      series);
  uint64_t seed = 5000;
  for (const auto& [engines, k] : {std::pair(size_t{2}, size_t{3}), {4, 1}, {4, 3}, {4, 5}, {8, 5}}) {
    Random random(++seed);
    const double confidence = confidence_of_best(engines);
    int before = 0, now = 0;
    for (int i = 0; i < series; ++i) {
      auto all = measured(random, std::vector<double>(engines, 1.0), k, {0.01, 0.01});
      const auto sum = [](const Repeats& repeats) {
        double total = 0;
        for (const RepeatValue& repeat : repeats) total += std::log(repeat.value);
        return total;
      };
      std::sort(all.begin(), all.end(), [&](const Repeats& a, const Repeats& b) { return sum(a) > sum(b); });
      const auto any = [&](auto told) {
        return std::any_of(all.begin() + 1, all.end(), [&](const Repeats& rival) { return told(all[0], rival); });
      };
      before += any([](const Repeats& a, const Repeats& b) { return told_before(a, b); }) ? 1 : 0;
      now += any([&](const Repeats& a, const Repeats& b) { return told_now(a, b, confidence); }) ? 1 : 0;
    }
    fmt::print("| {} | {} | {:.1f} | {:.1f} |\n", engines, k, 100.0 * before / series, 100.0 * now / series);
  }
}

}  // namespace deepgap
