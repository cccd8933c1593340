// Tuning: how often the answer is not the best one, and how often equal configurations are called different.
#include "searches.h"

#include "plan/test_systems.h"
#include "plan/tune_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace deepgap {
namespace {

struct Tuned {
  std::vector<TuneStanding> standings;
  size_t runs = 0;
};

Tuned tune(TuneSearch& search, const TunePlay& play) {
  Tuned tuned;
  for (auto trial = search.next(0); trial; trial = search.next(0)) {
    search.add(*trial, play(*trial));
    ++tuned.runs;
  }
  tuned.standings = search.standings();
  return tuned;
}

TuneSettings settings_for(size_t configurations, uint64_t seed) {
  TuneSettings settings;
  settings.configurations = configurations;
  settings.seed = seed;
  return settings;
}

bool any_apart(const std::vector<TuneStanding>& standings, size_t of) {
  return standings.size() < of || std::any_of(standings.begin() + 1, standings.end(), [](const TuneStanding& s) { return !s.tied; });
}

double share(int count, int series) { return 100.0 * count / series; }

void print_throughputs(int series) {
  fmt::print(
      "\nThe fastest of many, speeds within a factor of 2, noise from run to run and as much drift over a search, {} searches a row\n",
      series);
  fmt::print(
      "| configurations | noise, % | answer more than 2 % below the best, % | more than 7 %, % | more than 13 %, % | runs, mean |\n| --- | "
      "--- "
      "| --- | --- | --- | --- |\n");
  uint64_t seed = 9400;
  for (const size_t n : {4u, 16u, 64u}) {
    for (const double spread : {0.01, 0.05, 0.1}) {
      ++seed;
      int off[3] = {};
      size_t runs = 0;
      for (int i = 0; i < series; ++i) {
        RandomStream random(seed * 100'000 + static_cast<uint64_t>(i), "tune");
        std::vector<double> speeds;
        for (size_t k = 0; k < n; ++k) speeds.push_back(100 * std::exp(-0.7 * random.uniform()));
        const Tuned tuned =
            tune(*make_throughput_race(settings_for(n, seed + static_cast<uint64_t>(i))), drifting_machine(speeds, spread, random));
        const double best = *std::max_element(speeds.begin(), speeds.end());
        const double answer = tuned.standings.empty() ? 0 : speeds[tuned.standings.front().configuration];
        runs += tuned.runs;
        size_t which = 0;
        for (const double below : {0.02, 0.07, 0.13}) off[which++] += answer < best * (1 - below) ? 1 : 0;
      }
      fmt::print("| {} | {:g} | {:.1f} | {:.1f} | {:.1f} | {:.0f} |\n", n, spread * 100, share(off[0], series), share(off[1], series),
                 share(off[2], series), static_cast<double>(runs) / series);
      std::fflush(stdout);
    }
  }
}

void print_told_apart(int series) {
  fmt::print("\nFinalists distinguished, {} searches a row\n", series);
  fmt::print("| configurations | apart, % | noise, % | any distinguished, % |\n| --- | --- | --- | --- |\n");
  uint64_t seed = 9500;
  for (const auto& [speeds, apart] : {std::pair(std::vector<double>{100, 100}, 0),
                                      {std::vector<double>{100, 100, 100}, 0},
                                      {std::vector<double>{100, 100, 100, 100}, 0},
                                      {std::vector<double>{100, 96}, 4},
                                      {std::vector<double>{100, 92}, 8},
                                      {std::vector<double>{100, 88}, 12}}) {
    for (const double spread : {0.01, 0.03}) {
      ++seed;
      int told = 0;
      for (int i = 0; i < series; ++i) {
        RandomStream random(seed * 100'000 + static_cast<uint64_t>(i), "apart");
        const auto race = make_throughput_race(settings_for(speeds.size(), seed + static_cast<uint64_t>(i)));
        told += any_apart(tune(*race, drifting_machine(speeds, spread, random)).standings, speeds.size()) ? 1 : 0;
      }
      fmt::print("| {} | {} | {:g} | {:.1f} |\n", speeds.size(), apart, spread * 100, share(told, series));
      std::fflush(stdout);
    }
  }
}

void print_peak_races(int series) {
  fmt::print("\nThe queue with the highest peak, of 12 that serve 200 to 1000 a second, steps of 5 %, {} searches a row\n", series);
  fmt::print(
      "| noise in p99, % | not confirmed, % | answer more than 3 % below the best, % | more than 7 %, % | stated load more than 5 % "
      "too "
      "high, % | two equal ones distinguished, % | runs, mean |\n| --- | --- | --- | --- | --- | --- | --- |\n");
  PeakSettings peak;
  peak.from = 30;
  peak.lowest = 15;
  peak.ratio = 0.05;
  uint64_t seed = 9600;
  for (const double spread : {0.02, 0.1, 0.2}) {
    ++seed;
    int unconfirmed = 0, below_3 = 0, below_7 = 0, too_high = 0, apart = 0;
    size_t runs = 0;
    for (int i = 0; i < series; ++i) {
      RandomStream random(seed * 100'000 + static_cast<uint64_t>(i), "peaks");
      std::vector<double> rates;
      for (int k = 0; k < 12; ++k) rates.push_back(200 + 800 * random.uniform());
      const Tuned tuned = tune(*make_peak_race(settings_for(12, static_cast<uint64_t>(i)), peak), mm1_queues(rates, spread, random));
      const double best = mm1_peak_of(*std::max_element(rates.begin(), rates.end()));
      const TuneStanding* first = tuned.standings.empty() ? nullptr : &tuned.standings.front();
      const double own = first == nullptr ? 0 : mm1_peak_of(rates[first->configuration]);
      runs += tuned.runs;
      unconfirmed += first == nullptr || !first->confirmed ? 1 : 0;
      below_3 += own < best * 0.97 ? 1 : 0;
      below_7 += own < best * 0.93 ? 1 : 0;
      too_high += first != nullptr && first->value > own * 1.05 ? 1 : 0;
      apart +=
          any_apart(
              tune(*make_peak_race(settings_for(2, static_cast<uint64_t>(i)), peak), mm1_queues({500, 500}, spread, random)).standings, 2)
              ? 1
              : 0;
    }
    fmt::print("| {:g} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.0f} |\n", spread * 100, share(unconfirmed, series),
               share(below_3, series), share(below_7, series), share(too_high, series), share(apart, series),
               static_cast<double>(runs) / series);
    std::fflush(stdout);
  }
}

}  // namespace

void print_tuning(int series) {
  print_throughputs(series);
  print_told_apart(series);
  print_peak_races(series);
}

}  // namespace deepgap
