// Warm-up: when it ends, and what is left of it in the window.
#include "searches.h"
#include "simulated_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace deepgap {
namespace {

struct Row {
  std::string name;
  std::function<QuerySource(Random&)> make;
  double share = 0, tau = 1;  // how much slower it begins, and how fast that decays in s; 0: it does not change
};

// The first `count` queries take `factor` times as long: code that is compiled and memory that is touched for the first time.
QuerySource cold_source(Random& random, double mean, int count, double factor) {
  auto done = std::make_shared<int>(0);
  return {
      [=, &random](double) { return mean * ((*done)++ < count ? factor : 1) * (1 + 0.02 * std::normal_distribution<double>()(random)); },
      mean, mean};
}

Row warming(double ms, double share, double tau) {
  return {fmt::format("{:g} % slower at first, tau {:g} s, {:g} ms", share * 100, tau, ms),
          [=](Random& r) { return warming_source(r, ms / 1e3, share, tau); }, share, tau};
}

std::vector<Row> rows() {
  std::vector<Row> rows{{"white, cv 1 %", [](Random& r) { return white_source(r, 0.005, 0.01); }},
                        {"white, cv 10 %", [](Random& r) { return white_source(r, 0.005, 0.1); }},
                        {"lognormal, sigma 0.3", [](Random& r) { return lognormal_source(r, 0.005, 0.3); }},
                        {"AR(1) 0.9, cv 5 %", [](Random& r) { return ar1_source(r, 0.005, 0.05, 0.9); }},
                        {"AR(1) 0.9, cv 2 %, 50 ms", [](Random& r) { return ar1_source(r, 0.05, 0.02, 0.9); }},
                        {"1 % five times as long", [](Random& r) { return spikes_source(r, 0.005, 100, 5); }},
                        {"interference, 0.1 s of every 1 s, twice", [](Random& r) { return interference_source(r, 0.005, 1, 0.1, 2); }},
                        {"the first 20 ten times as long", [](Random& r) { return cold_source(r, 0.005, 20, 10); }},
                        {"the first one 200 times as long", [](Random& r) { return cold_source(r, 0.005, 1, 200); }}};
  for (const double share : {0.05, 0.2})
    for (const double tau : {0.1, 0.5, 2.0}) rows.push_back(warming(5, share, tau));
  rows.push_back(warming(1, 0.2, 2));
  rows.push_back(warming(50, 0.2, 2));
  rows.push_back(warming(5, 0.2, 10));
  return rows;
}

double quantile_of(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<size_t>(share * static_cast<double>(values.size())))];
}

void print_row(const Row& row, const StoppingSettings& settings, Random& random, int series) {
  int seen = 0, another = 0, covered = 0, unstable = 0;
  std::vector<double> lengths, left, off;
  for (int i = 0; i < series; ++i) {
    const QuerySource source = row.make(random);
    const SimulatedRun run = simulate_run(source, settings);
    seen += run.was_steady ? 1 : 0;
    another += run.windows > 1 ? 1 : 0;
    unstable += run.verdict == Verdict::unstable ? 1 : 0;
    covered += holds(run.throughput, 1 / source.mean) ? 1 : 0;
    lengths.push_back(run.first_warmup_s);
    left.push_back(row.share * std::exp(-run.warmup_s / row.tau) * 100);
    off.push_back((run.throughput.value * source.mean - 1) * 100);
  }
  fmt::print("| {} | {:.1f} | {:.2f} | {:.2f} | {:.1f} | {:.2f} | {:.2f} | {:.1f} | {:.1f} |\n", row.name, percent(seen, series),
             quantile_of(lengths, 0.5), quantile_of(lengths, 0.95), percent(another, series), quantile_of(left, 0.5), quantile_of(off, 0.5),
             percent(covered, series), percent(unstable, series));
  std::fflush(stdout);
}

}  // namespace

void print_warmups(int series) {
  fmt::print("\nWarm-ups of one run at the default settings, {} series a row\n", series);
  fmt::print(
      "| series | steady within 10 s, % | takes, s (median) | 95 of 100 take, s | another window, % | still slower when the window begins, "
      "% "
      "(median) | throughput off by, % (median) | covers, % | unstable, % |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  StoppingSettings settings;
  settings.duration = 10'000'000'000;  // as plan/expand.cpp
  uint64_t seed = 9000;
  for (const Row& row : rows()) {
    Random random(++seed);
    print_row(row, settings, random, series);
  }
}

}  // namespace deepgap
