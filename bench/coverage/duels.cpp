// Duels without engines: pairs of turns as the statistics see them, and whole duels of contenders whose query times are made by formula on
// virtual time, with the turns, the order and the stopping of a real one; beside them separate runs of the same length.
#include "comparisons.h"
#include "simulated_run.h"

#include "plan/duel_turns.h"
#include "scenario/turn.h"
#include "stats/compare.h"
#include "stats/sequential.h"
#include "stats/test_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {
namespace {

constexpr double margin = 0.02;
constexpr double round_s = 0.25;  // length of a pair of turns: queries of some 30 ms

double half_width(const Interval& interval) { return std::log(interval.high / interval.low) / 2 * 100; }

using Noise = std::function<std::vector<double>(Random&, size_t)>;

Noise ar1_noise(double scatter, double rho) {
  return [=](Random& random, size_t n) { return ar1_series(random, n, 0, scatter, rho); };
}

// Two ratios 10 % apart that last for `dwell` pairs on average, and 1 % of noise.
Noise sticky_noise(double dwell) {
  return [=](Random& random, size_t n) {
    std::vector<double> values(n);
    std::exponential_distribution<double> length(1 / dwell);
    bool high = std::bernoulli_distribution(0.5)(random);
    double until = length(random);
    for (size_t i = 0; i < n; ++i) {
      while (static_cast<double>(i) >= until) {
        high = !high;
        until += length(random);
      }
      values[i] = (high ? 0.05 : -0.05) + 0.01 * std::normal_distribution<double>()(random);
    }
    return values;
  };
}

struct Pairs {
  bool ever_wrong = false, decided_wrong = false, decided = false;
  double width = 0, settled_at = 1e9;
};

Pairs look_at(const std::vector<double>& noise, double truth) {
  PairedSequence sequence(margin);
  Pairs found;
  for (const double value : noise) {
    sequence.add(truth * std::exp(value), 1, round_s);
    const auto& look = sequence.last_look();
    if (!look || look->pairs != sequence.pairs()) continue;
    found.width = half_width(look->interval);
    found.ever_wrong = found.ever_wrong || (look->is_stated() && (look->interval.low > truth || look->interval.high < truth));
    const Difference said = sequence.decision();
    const Difference right = truth == 1 ? Difference::same : Difference::more;
    found.decided = found.decided || said != Difference::unknown;
    if (found.settled_at == 1e9 && said != Difference::unknown && said != right) found.decided_wrong = true;
    if (found.settled_at == 1e9 && said != Difference::unknown) found.settled_at = static_cast<double>(sequence.pairs());
  }
  return found;
}

}  // namespace

void print_pairs(int series) {
  fmt::print("\nPairs of turns, true ratio 1, looked at up to 1000 pairs, {} series a row\n", series);
  fmt::print(
      "| pairs | states an interval without the truth, % | calls it different, % | has a verdict by 1000, % | pairs until settled, median "
      "| "
      "half-width at 1000, % |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- |\n");
  const std::vector<std::pair<std::string, Noise>> rows{{"white, 5 %", ar1_noise(0.05, 0)},
                                                        {"AR(1) 0.5, 5 %", ar1_noise(0.05, 0.5)},
                                                        {"AR(1) 0.9, 5 %", ar1_noise(0.05, 0.9)},
                                                        {"AR(1) 0.95, 5 %", ar1_noise(0.05, 0.95)},
                                                        {"AR(1) 0.99, 5 %", ar1_noise(0.05, 0.99)},
                                                        {"sticky modes 10 % apart, dwell 2 pairs", sticky_noise(2)},
                                                        {"sticky modes, dwell 10 pairs", sticky_noise(10)},
                                                        {"sticky modes, dwell 30 pairs", sticky_noise(30)},
                                                        {"sticky modes, dwell 100 pairs", sticky_noise(100)}};
  uint64_t seed = 6000;
  for (const auto& [name, make] : rows) {
    Random random(++seed);
    int wrong = 0, decided_wrong = 0, decided = 0;
    std::vector<double> lengths, widths;
    for (int i = 0; i < series; ++i) {
      const Pairs found = look_at(make(random, 1000), 1);
      wrong += found.ever_wrong ? 1 : 0;
      decided_wrong += found.decided_wrong ? 1 : 0;
      decided += found.decided ? 1 : 0;
      lengths.push_back(found.settled_at);
      widths.push_back(found.width);
    }
    const double length = median_of(lengths);
    fmt::print("| {} | {:.1f} | {:.1f} | {:.1f} | {} | {:.2f} |\n", name, 100.0 * wrong / series, 100.0 * decided_wrong / series,
               100.0 * decided / series, length < 1e9 ? fmt::format("{:.0f}", length) : "over 1000", median_of(widths));
    std::fflush(stdout);
  }
}

namespace {

// A machine with two contenders: what it does to both alike, and each one's own query times.
struct Arena {
  std::function<double(double now)> machine;  // factor on every query's time
  QuerySource contenders[2];
};
using MakeArena = std::function<Arena(Random&, double ratio)>;

double steady_machine(double /*now*/) { return 1; }

struct Ignored final : TimingSink {
  void add(const Timing& /*timing*/) override {}
};

struct Given {
  double items_per_s = 0, seconds = 0;
};

Given take_turn(const Arena& arena, size_t contender, Nanoseconds& now) {
  Ignored ignored;
  Turn turn(duel_slice, true, ignored);
  while (turn.state() == Stopping::State::more) {
    const double at = static_cast<double>(now) / 1e9;
    const auto length = static_cast<Nanoseconds>(arena.contenders[contender].next(at) * arena.machine(at) * 1e9);
    turn.add(Timing{0, now, now, now + length, 1, Status::ok});
    now += length;
  }
  return {turn.throughput().value, turn.whole_seconds()};
}

struct Duelled {
  double ratio = 1, width = 0, seconds = 0;
  bool stated = false, covers = false, settled = false, wrong = false;
};

// Runs a duel as run/duel.cpp does, at most two minutes.
Duelled duel(Random& random, const MakeArena& make, double truth) {
  const Arena arena = make(random, truth);
  DuelTurns turns(2, random());
  PairedSequence sequence(margin);
  Nanoseconds now = 0;
  while (sequence.decision() == Difference::unknown && now < 120'000'000'000) {
    Given gave[2];
    for (const size_t contender : turns.next_round()) gave[contender] = take_turn(arena, contender, now);
    sequence.add(gave[1].items_per_s, gave[0].items_per_s, gave[0].seconds + gave[1].seconds);
  }
  Duelled found;
  found.ratio = sequence.ratio();
  found.seconds = static_cast<double>(now) / 1e9;
  found.settled = sequence.decision() != Difference::unknown;
  if (const auto& look = sequence.last_look()) {
    found.width = half_width(look->interval);
    found.stated = look->is_stated();
    found.covers = look->interval.low <= truth && truth <= look->interval.high;
  }
  const Difference said = sequence.decision();
  found.wrong = said != Difference::unknown && said != (truth == 1 ? Difference::same : Difference::more);
  return found;
}

// The half-width of the ratio of two runs of a minute, one after the other, each with the interval within it: what one had before.
std::pair<double, bool> separate_runs(Random& random, const MakeArena& make, double truth) {
  const Arena arena = make(random, truth);
  StoppingSettings settings;
  settings.name = "duration";
  settings.duration = 60'000'000'000;
  MeanEstimate means[2];
  double from = 0;
  for (size_t i = 0; i < 2; ++i) {
    const QuerySource source{[&, i](double now) { return arena.contenders[i].next(from + now) * arena.machine(from + now); }, 0, 0};
    const SimulatedRun run = simulate_run(source, settings);
    means[i] = {run.throughput.value, 0, 31, run.throughput.n};
    if (run.throughput.low) means[i].variance_of_mean = std::pow((run.throughput.value - *run.throughput.low) / 2.04, 2);
    from += run.warmup_s + run.window_s;
  }
  const auto ratio = estimate_ratio(means[1], means[0]);
  return {half_width(ratio->interval), ratio->interval.low <= truth && truth <= ratio->interval.high};
}

std::vector<std::pair<std::string, MakeArena>> arenas() {
  constexpr double query = 0.02;
  const auto both = [](auto own) {
    return [own](Random& r, double ratio) { return Arena{steady_machine, {own(r, query), own(r, query / ratio)}}; };
  };
  const auto on = [](auto machine) {
    return [machine](Random& r, double ratio) {
      return Arena{machine(r), {white_source(r, query, 0.05), white_source(r, query / ratio, 0.05)}};
    };
  };
  return {
      {"own: white, cv 5 %", both([](Random& r, double mean) { return white_source(r, mean, 0.05); })},
      {"own: lognormal, sigma 0.3", both([](Random& r, double mean) { return lognormal_source(r, mean, 0.3); })},
      {"own: AR(1) 0.9, cv 5 %", both([](Random& r, double mean) { return ar1_source(r, mean, 0.05, 0.9); })},
      {"own: AR(1) 0.99, cv 5 %", both([](Random& r, double mean) { return ar1_source(r, mean, 0.05, 0.99); })},
      {"own: modes 10 % apart, dwell 1 s", both([](Random& r, double mean) { return modes_source(r, mean, 0.1, 1); })},
      {"own: modes 10 % apart, dwell 10 s", both([](Random& r, double mean) { return modes_source(r, mean, 0.1, 10); })},
      {"own: 1 % five times as long", both([](Random& r, double mean) { return spikes_source(r, mean, 100, 5); })},
      {"machine: modes 30 % apart, dwell 1 s", on([](Random& r) { return modes_source(r, 1, 0.3, 1).next; })},
      {"machine: modes 30 % apart, dwell 10 s", on([](Random& r) { return modes_source(r, 1, 0.3, 10).next; })},
      {"machine: somebody for 3 s of every 10 s, half the speed", on([](Random& r) { return interference_source(r, 1, 10, 3, 2).next; })},
      {"machine: drift 20 % in 30 s", on([](Random& r) { return drift_source(r, 1, 0.2).next; })}};
}

void print_arenas(int series, double truth) {
  fmt::print(
      "\nInterleaved comparisons of at most 2 minutes, queries of 20 ms, true ratio {:g}, {} a row; beside them two runs of a minute one "
      "after the other\n",
      truth, series);
  fmt::print(
      "| series | states an interval, % | of these cover, % | settled, % | wrong verdict, % | half-width, % | takes, s | separate: "
      "half-width, "
      "% | covers, % |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  uint64_t seed = 6100;
  for (const auto& [name, make] : arenas()) {
    Random random(++seed);
    int stated = 0, covers = 0, settled = 0, wrong = 0, separate_covers = 0;
    std::vector<double> widths, times, separate_widths;
    for (int i = 0; i < series; ++i) {
      const Duelled found = duel(random, make, truth);
      stated += found.stated ? 1 : 0;
      covers += found.stated && found.covers ? 1 : 0;
      settled += found.settled ? 1 : 0;
      wrong += found.wrong ? 1 : 0;
      widths.push_back(found.width);
      times.push_back(found.seconds);
      const auto [width, holds] = separate_runs(random, make, truth);
      separate_widths.push_back(width);
      separate_covers += holds ? 1 : 0;
    }
    const std::string of_stated = stated * 50 < series ? "-" : fmt::format("{:.1f}", 100.0 * covers / stated);
    fmt::print("| {} | {:.1f} | {} | {:.1f} | {:.1f} | {:.2f} | {:.0f} | {:.2f} | {:.1f} |\n", name, percent(stated, series), of_stated,
               percent(settled, series), percent(wrong, series), median_of(widths), median_of(times), median_of(separate_widths),
               percent(separate_covers, series));
    std::fflush(stdout);
  }
}

// The larger the difference, the sooner it is known.
void print_times(int series) {
  constexpr double query = 0.02;
  const std::vector<std::pair<std::string, MakeArena>> machines{
      {"quiet, cv 5 %",
       [](Random& r, double ratio) {
         return Arena{steady_machine, {white_source(r, query, 0.05), white_source(r, query / ratio, 0.05)}};
       }},
      {"somebody for 3 s of every 10 s, half the speed", [](Random& r, double ratio) {
         return Arena{interference_source(r, 1, 10, 3, 2).next, {white_source(r, query, 0.05), white_source(r, query / ratio, 0.05)}};
       }}};
  fmt::print("\nHow long an interleaved comparison takes, queries of 20 ms, {} a row\n", series);
  fmt::print("| machine, true ratio | settled, % | wrong verdict, % | takes, s (median) | 19 of 20 take at most, s |\n");
  fmt::print("| --- | --- | --- | --- | --- |\n");
  uint64_t seed = 6200;
  for (const auto& [name, make] : machines) {
    for (const double truth : {2.0, 1.2, 1.1, 1.05, 1.02}) {
      Random random(++seed);
      int settled = 0, wrong = 0;
      std::vector<double> times;
      for (int i = 0; i < series; ++i) {
        const Duelled found = duel(random, make, truth);
        settled += found.settled ? 1 : 0;
        wrong += found.wrong ? 1 : 0;
        times.push_back(found.seconds);
      }
      std::sort(times.begin(), times.end());
      fmt::print("| {}, {:g} | {:.1f} | {:.1f} | {:.0f} | {:.0f} |\n", name, truth, percent(settled, series), percent(wrong, series),
                 median_of(times), times.at(times.size() * 19 / 20));
      std::fflush(stdout);
    }
  }
}

}  // namespace

void print_duels(int series) {
  print_arenas(series, 1);
  print_arenas(series, 1.07);
  print_times(series);
}

}  // namespace deepgap
