// Both searches against simulated machines: a throughput, or an M/M/1 queue, for each configuration, with noise from run to run and a
// drift that all share. Seeds are fixed and printed on failure.
#include "plan/tune_search.h"

#include "plan/test_systems.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

namespace deepgap {
namespace {

struct Played {
  std::vector<TuneStanding> standings;
  std::vector<TuneTrial> trials;
};
// `run_share`: of the time, that each run takes.
Played play(TuneSearch& search, const TunePlay& run, double run_share = 0) {
  Played played;
  for (auto trial = search.next(0); trial; trial = search.next(run_share * static_cast<double>(played.trials.size()))) {
    played.trials.push_back(*trial);
    search.add(*trial, run(*trial));
    if (played.trials.size() > 5000) ADD_FAILURE() << "does not end";
    if (played.trials.size() > 5000) break;
  }
  played.standings = search.standings();
  return played;
}

TuneSettings settings_for(size_t configurations, uint64_t seed = 1) {
  TuneSettings settings;
  settings.configurations = configurations;
  settings.seed = seed;
  return settings;
}

TEST(ThroughputRace, FindsTheBestWithoutNoise) {
  for (const size_t n : {1u, 2u, 3u, 12u, 40u}) {
    RandomStream random(n, "speeds");
    std::vector<double> speeds;
    for (size_t i = 0; i < n; ++i) speeds.push_back(100 + 100 * random.uniform());
    const auto race = make_throughput_race(settings_for(n));
    const Played played = play(*race, drifting_machine(speeds, 0, random));
    ASSERT_FALSE(played.standings.empty());
    const TuneStanding& best = played.standings.front();
    EXPECT_EQ(speeds[best.configuration], *std::max_element(speeds.begin(), speeds.end())) << n;
    EXPECT_TRUE(best.confirmed);
    EXPECT_EQ(best.runs, 5);
    EXPECT_LE(played.standings.size(), 4u);
    for (const TuneStanding& other : played.standings) EXPECT_FALSE(other.tied);
    EXPECT_LE(played.trials.size(), n * static_cast<size_t>(std::ceil(std::log2(std::max(1.0, static_cast<double>(n) / 4))) + 1) + 20);
  }
}

// Every round is a block of one run each, so that drift hits all alike, and not always in the same order.
TEST(ThroughputRace, ConfirmsInTurns) {
  const std::vector<double> speeds{100, 99, 98, 97};
  RandomStream random(1, "noise");
  const auto race = make_throughput_race(settings_for(4));
  const Played played = play(*race, drifting_machine(speeds, 0.01, random));
  ASSERT_EQ(played.trials.size(), 4 + 5 * 4u);
  std::vector<std::vector<size_t>> rounds;
  for (size_t begin = 4; begin < played.trials.size(); begin += 4) {
    std::vector<size_t> round;
    for (size_t i = begin; i < begin + 4; ++i) {
      EXPECT_EQ(played.trials[i].stage, TuneStage::confirm);
      round.push_back(played.trials[i].configuration);
    }
    rounds.push_back(round);
    std::sort(round.begin(), round.end());
    EXPECT_EQ(round, (std::vector<size_t>{0, 1, 2, 3}));
  }
  EXPECT_NE(rounds[0], rounds[1]);
}

TEST(ThroughputRace, FailedOnesAreOut) {
  const auto race = make_throughput_race(settings_for(3));
  const Played played = play(*race, [](const TuneTrial& trial) {
    TuneRun run;
    run.failed = trial.configuration != 1;
    run.throughput = 50;
    return run;
  });
  ASSERT_EQ(played.standings.size(), 1u);
  EXPECT_EQ(played.standings[0].configuration, 1u);
  const auto none = make_throughput_race(settings_for(2));
  EXPECT_TRUE(play(*none, [](const TuneTrial&) { return TuneRun{true, 0, {}, {}}; }).standings.empty());
}

TEST(ThroughputRace, ConfirmsWhatTimeAllows) {
  std::vector<double> speeds;
  for (int i = 0; i < 20; ++i) speeds.push_back(100 + i);
  RandomStream random(1, "noise");
  const auto race = make_throughput_race(settings_for(20));
  const Played played = play(*race, drifting_machine(speeds, 0, random), 1.0 / 30);  // time for 30 runs
  EXPECT_LE(played.trials.size(), 31u);
  EXPECT_EQ(played.standings.size(), 2u);
  EXPECT_TRUE(played.standings[0].confirmed);
  const auto short_race = make_throughput_race(settings_for(20));
  const Played cut = play(*short_race, drifting_machine(speeds, 0, random), 1.0 / 4);
  EXPECT_LE(cut.trials.size(), 5u);
  for (const TuneStanding& standing : cut.standings) EXPECT_FALSE(standing.confirmed);
}

// Counts, in 1000 searches among 16 configurations, how often the answer is more than `away` below the best.
int misses(double spread, double away) {
  int count = 0;
  size_t runs = 0;
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    RandomStream random(seed, "tune");
    std::vector<double> speeds;
    for (int i = 0; i < 16; ++i) speeds.push_back(100 * std::exp(-0.7 * random.uniform()));
    const auto race = make_throughput_race(settings_for(16, seed));
    const Played played = play(*race, drifting_machine(speeds, spread, random));
    const double best = *std::max_element(speeds.begin(), speeds.end());
    runs += played.trials.size();
    if (played.standings.empty() || speeds[played.standings[0].configuration] < best * (1 - away)) ++count;
  }
  std::printf("spread %.2f: %d of 1000 (seeds 1 to 1000) are more than %.0f %% below the best; %.0f runs each\n", spread, count, away * 100,
              static_cast<double>(runs) / 1000);
  return count;
}

TEST(ThroughputRace, IsRightUnderNoise) {
  EXPECT_LE(misses(0.01, 0.02), 10);
  EXPECT_LE(misses(0.05, 0.07), 20);
  EXPECT_LE(misses(0.10, 0.13), 20);
}

// Equal configurations are called different in at most 5 % of searches, unequal ones nearly always.
TEST(ThroughputRace, ToldApartRarelyByChance) {
  int equal = 0, unequal = 0;
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    RandomStream random(seed, "equal");
    const auto any_apart = [&](const std::vector<double>& speeds) {
      const auto race = make_throughput_race(settings_for(speeds.size(), seed));
      const auto standings = play(*race, drifting_machine(speeds, 0.03, random)).standings;
      return standings.size() < speeds.size() ||
             std::any_of(standings.begin() + 1, standings.end(), [](const TuneStanding& s) { return !s.tied; });
    };
    if (any_apart({100, 100, 100})) ++equal;
    if (any_apart({100, 88})) ++unequal;
  }
  std::printf("told apart: equal %d, 12 %% apart %d of 1000\n", equal, unequal);
  EXPECT_LE(equal, 50);
  EXPECT_GE(unequal, 950);
}

PeakSettings example_peak() {
  PeakSettings settings;
  settings.from = 30;
  settings.lowest = 15;
  settings.ratio = 0.05;
  return settings;
}

TEST(PeakRace, FindsTheHighestPeakWithFewRunsForTheOthers) {
  RandomStream random(1, "noise");
  const std::vector<double> rates{300, 250, 600, 200, 900, 400, 350, 500};
  const auto race = make_peak_race(settings_for(8), example_peak());
  const Played played = play(*race, mm1_queues(rates, 0, random));
  ASSERT_FALSE(played.standings.empty());
  const TuneStanding& best = played.standings.front();
  EXPECT_EQ(best.configuration, 4u);
  EXPECT_TRUE(best.confirmed);
  EXPECT_EQ(best.runs, 5);
  EXPECT_LE(best.value, mm1_peak_of(900));
  EXPECT_GE(best.value * 1.051, mm1_peak_of(900));
  EXPECT_EQ(played.standings.size(), 1u);
  const auto of_last = std::count_if(played.trials.begin(), played.trials.end(), [](const TuneTrial& t) { return t.configuration == 7; });
  EXPECT_EQ(of_last, 2) << "two misses at what another one held";
  EXPECT_LE(played.trials.size(), 60u);
}

TEST(PeakRace, NoneHoldsOrNoneRuns) {
  RandomStream random(1, "noise");
  const auto slow = make_peak_race(settings_for(3), example_peak());
  EXPECT_TRUE(play(*slow, mm1_queues({50, 60, 70}, 0, random)).standings.empty());
  const auto broken = make_peak_race(settings_for(3), example_peak());
  EXPECT_TRUE(play(*broken, [](const TuneTrial&) { return TuneRun{true, 0, {}, {}}; }).standings.empty());
}

TEST(PeakRace, EndsWithItsTime) {
  RandomStream random(1, "noise");
  const std::vector<double> rates{300, 310, 320, 330};
  for (const double runs : {5.0, 20.0, 40.0}) {
    const auto race = make_peak_race(settings_for(4), example_peak());
    const Played played = play(*race, mm1_queues(rates, 0.05, random), 1 / runs);
    EXPECT_LE(static_cast<double>(played.trials.size()), runs + 1);
    EXPECT_FALSE(played.standings.empty());
  }
}

TEST(PeakRace, IsRightUnderNoise) {
  int wrong = 0, apart = 0;
  size_t runs = 0;
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    RandomStream random(seed, "peaks");
    std::vector<double> rates;
    for (int i = 0; i < 12; ++i) rates.push_back(200 + 800 * random.uniform());
    const auto race = make_peak_race(settings_for(12, seed), example_peak());
    const Played played = play(*race, mm1_queues(rates, 0.1, random));
    const double best = mm1_peak_of(*std::max_element(rates.begin(), rates.end()));
    runs += played.trials.size();
    const TuneStanding* first = played.standings.empty() ? nullptr : &played.standings.front();
    if (first == nullptr || !first->confirmed || mm1_peak_of(rates[first->configuration]) < best * 0.93 || first->value > best * 1.05)
      ++wrong;
    const auto twins = make_peak_race(settings_for(2, seed), example_peak());
    const auto standings = play(*twins, mm1_queues({500, 500}, 0.1, random)).standings;
    if (standings.size() < 2 || !standings[1].tied) ++apart;
  }
  std::printf("spread 0.10: %d of 1000 (seeds 1 to 1000) are wrong; equal ones told apart %d times; %.0f runs each\n", wrong, apart,
              static_cast<double>(runs) / 1000);
  EXPECT_LE(wrong, 10);
  EXPECT_LE(apart, 50);
}

}  // namespace
}  // namespace deepgap
