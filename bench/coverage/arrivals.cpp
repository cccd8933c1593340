// Arrivals: whether the processes are what they are called, and how long the queues are that a window sees.
#include "comparisons.h"
#include "searches.h"

#include "analysis/latency_percentile.h"
#include "scenario/fake_target.h"
#include "scenario/test_arrivals.h"
#include "scenario/test_drive.h"
#include "stats/test_sources.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {
namespace {

constexpr Nanoseconds ms = 1'000'000, second = 1'000 * ms;
constexpr size_t gaps_each = 2000;
constexpr double count_s = 10;

struct Process {
  std::string name;
  double rate;
  std::function<std::unique_ptr<Arrivals>(uint64_t seed)> make;
  std::function<double(double ns)> rescale;  // the arrivals expected until then; empty: it hangs on what nobody sees
  double dispersion;                         // dispersion of the number within 10 s
};

Process poisson(double rate) {
  return {fmt::format("Poisson, {:g} a second", rate), rate, [=](uint64_t seed) { return std::make_unique<PoissonArrivals>(rate, seed); },
          [=](double ns) { return ns * rate / 1e9; }, 1};
}

Process bursts(const std::string& name, const BurstSettings& settings) {
  const auto make = [=](uint64_t seed) { return std::make_unique<BurstyArrivals>(settings, seed); };
  if (settings.random_lengths) return {name, settings.rate, make, {}, markov_dispersion(settings, count_s)};
  return {name, settings.rate, make, [=](double ns) { return expected_until(settings, ns); }, 1};
}

std::vector<Process> processes() {
  return {poisson(20), poisson(500), bursts("bursts of 0.1 s, pauses of 0.4 s, 200 a second", {200, 100 * ms, 400 * ms, 0, false}),
          bursts("the same, a fifth of it in the pauses", {200, 100 * ms, 400 * ms, 0.2, false}),
          bursts("random lengths with these means (MMPP), 200 a second", {200, 100 * ms, 400 * ms, 0.1, true})};
}

void print_process(const Process& process, uint64_t seed, int series) {
  constexpr double ks_95 = 1.358, normal_95 = 1.96;  // passed by chance in 5 % of cases
  int refused = 0, correlated = 0, outside = 0;
  double sum = 0, squares = 0;
  const double expected = process.rate * count_s;
  for (int i = 0; i < series; ++i) {
    const uint64_t own = seed * 100'000 + static_cast<uint64_t>(i);
    if (process.rescale) {
      std::vector<double> times = take_arrivals(*process.make(own), gaps_each);
      for (double& time : times) time = process.rescale(time);
      const std::vector<double> gaps = gaps_of(times);
      refused += exponential_distance(gaps) > ks_95 ? 1 : 0;
      correlated += std::abs(neighbours_correlation(gaps)) > normal_95 ? 1 : 0;
    }
    const auto counted = process.make(own);
    double count = 0;
    while (static_cast<double>(counted->next()) < count_s * 1e9) ++count;
    outside += std::abs(count - expected) > normal_95 * std::sqrt(expected * process.dispersion) ? 1 : 0;
    sum += count;
    squares += (count - expected) * (count - expected);
  }
  const auto share = [&](int count) { return process.rescale ? fmt::format("{:.1f}", 100.0 * count / series) : std::string("-"); };
  fmt::print("| {} | {} | {} | {:.4f} | {:.1f} | {:.3f} | {:.3f} |\n", process.name, share(refused), share(correlated),
             sum / series / expected, 100.0 * outside / series, squares / series / expected, process.dispersion);
  std::fflush(stdout);
}

void print_processes(int series) {
  fmt::print("\nArrivals, each series of {} gaps and of another seed; the number of them within {:g} s, {} series a row\n", gaps_each,
             count_s, series);
  fmt::print(
      "| arrivals | gaps refused at 5 %, % | neighbours called correlated at 5 %, % | number over what is asked, mean | number outside its "
      "95 "
      "% range, % | variance of the number over its mean | in theory |\n| --- | --- | --- | --- | --- | --- | --- |\n");
  uint64_t seed = 9100;
  for (const Process& process : processes()) print_process(process, ++seed, series);
}

// What windows see of an M/M/1 queue, over what is true of it in the long run: its response time is exponential with mean
// s / (1 - load) (Kleinrock, Queueing Systems I, 3.2).
struct Seen {
  double wait = 0, p99 = 0, late = 0, queries = 0;
};

Seen see(double service_ms, double load, Nanoseconds lead, Random& random, uint64_t seed) {
  const double mean_ms = service_ms / (1 - load), true_p99 = mean_ms * std::log(100);
  Driven run;
  run.lead = lead;
  std::exponential_distribution<double> service(1 / (service_ms * static_cast<double>(ms)));
  ScriptedTarget target(*run.clock, {1, 1}, [&](uint64_t) { return static_cast<Nanoseconds>(service(random)) + 1; });
  run.drive(target, "server", 1, lasting(10 * second),
            {{"rate", fmt::format("{:.9g}", load * 1000 / service_ms)}, {"seed", std::to_string(seed)}});
  Seen seen;
  std::vector<double> latencies;
  for (const Timing& timing : run.kept.timings) {
    seen.wait += static_cast<double>(timing.begin - timing.scheduled) / 1e6;
    latencies.push_back(static_cast<double>(timing.end - timing.scheduled) / 1e6);
    seen.late += latencies.back() > true_p99 ? 1 : 0;
  }
  seen.queries = static_cast<double>(latencies.size());
  if (!latencies.empty()) seen.p99 = percentile_of_series(latencies, 99).value / true_p99;
  seen.wait /= load * mean_ms;
  return seen;
}

void print_queues(int series) {
  fmt::print("\nAn M/M/1 queue in windows of 10 s, what is seen over what is true in the long run, {} series a row\n", series);
  fmt::print(
      "| service, ms | load over what it can do | from an empty queue: mean wait | from an empty queue: late for the true p99, of 100 | "
      "from an empty queue: p99, median | mean "
      "wait "
      "| late for the true p99, of 100 | p99, median |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  uint64_t seed = 9200;
  for (const double service_ms : {1.0, 5.0, 30.0}) {
    for (const double load : {0.3, 0.8, 0.9, 0.95}) {
      Random random(++seed);
      std::string cells;
      for (const Nanoseconds lead : {Nanoseconds{0}, 2 * second}) {
        Seen all;
        std::vector<double> p99;
        for (int i = 0; i < series; ++i) {
          const Seen one = see(service_ms, load, lead, random, seed * 100'000 + static_cast<uint64_t>(i));
          all.wait += one.wait;
          all.late += one.late;
          all.queries += one.queries;
          p99.push_back(one.p99);
        }
        std::nth_element(p99.begin(), p99.begin() + series / 2, p99.end());
        cells += fmt::format(" {:.3f} | {:.2f} | {:.3f} |", all.wait / all.queries, 100 * all.late / all.queries,
                             p99[static_cast<size_t>(series) / 2]);
      }
      fmt::print("| {:g} | {:g} |{}\n", service_ms, load, cells);
      std::fflush(stdout);
    }
  }
}

}  // namespace

void print_arrivals(int series) {
  print_processes(series);
  print_queues(series);
}

}  // namespace deepgap
