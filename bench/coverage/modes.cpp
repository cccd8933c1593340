// Latencies in two groups (stats/modes.h): how often one group is called two, and how often two are found, with their order. Fixed seeds.
#include "comparisons.h"
#include "simulated_run.h"

#include "stats/modes.h"
#include "stats/test_series.h"
#include "stats/test_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace deepgap {
namespace {

using Series = std::vector<double>;

struct ModesRow {
  std::string name;
  size_t queries;
  std::function<Series(Random&, size_t)> make;
  double resolution = 0;
};

Series factors(Random& random, size_t n, double sigma, double rho) {
  Series values = ar1_series(random, n, 0, sigma, rho);
  for (double& value : values) value = std::exp(value);
  return values;
}

// One group, whose values scatter by `sigma` and resemble their neighbours by `rho`.
auto one_group(double sigma, double rho) {
  return [=](Random& random, size_t n) { return factors(random, n, sigma, rho); };
}

// Read from a timer whose tick is a fifth of the median.
constexpr double tick = 0.2;
auto read_coarsely(const std::function<Series(Random&, size_t)>& make) {
  return [=](Random& random, size_t n) {
    Series values = make(random, n);
    for (double& value : values) value = std::max(1.0, std::floor(value / tick)) * tick;
    return values;
  };
}

Series uniform(Random& random, size_t n) {
  Series values(n);
  for (double& value : values) value = std::uniform_real_distribution<double>(1, 2)(random);
  return values;
}

// Two groups, `apart` from each other; `is_slow` says which queries belong to the second.
auto two_groups(double apart, const std::function<bool(Random&, size_t)>& is_slow) {
  return [=](Random& random, size_t n) {
    Series values = factors(random, n, 0.03, 0);
    for (size_t i = 0; i < n; ++i) values[i] *= is_slow(random, i) ? 1 + apart : 1;
    return values;
  };
}

void print_table(const char* title, const std::vector<ModesRow>& rows, int series, uint64_t seed) {
  fmt::print("\n{}, {} series a row\n", title, series);
  fmt::print("| series | queries | two groups, % | alternating, % | in stretches, % |\n| --- | --- | --- | --- | --- |\n");
  for (const ModesRow& row : rows) {
    Random random(++seed);
    int two = 0, alternating = 0, stretches = 0;
    for (int i = 0; i < series; ++i) {
      const auto modes = find_modes(row.make(random, row.queries), row.resolution);
      two += modes ? 1 : 0;
      alternating += modes && modes->order == ModeOrder::alternating ? 1 : 0;
      stretches += modes && modes->order == ModeOrder::stretches ? 1 : 0;
    }
    fmt::print("| {} | {} | {:.1f} | {:.1f} | {:.1f} |\n", row.name, row.queries, percent(two, series), percent(alternating, series),
               percent(stretches, series));
    std::fflush(stdout);
  }
}

}  // namespace

void print_modes(int series) {
  std::vector<ModesRow> one, two;
  for (const size_t n : {100u, 1000u}) {
    one.push_back({"uniform", n, uniform});
    one.push_back({"lognormal 0.3", n, one_group(0.3, 0)});
    one.push_back({"lognormal 0.3, AR(1) 0.9", n, one_group(0.3, 0.9)});
    one.push_back({"lognormal 0.3, AR(1) 0.99", n, one_group(0.3, 0.99)});
    one.push_back({"lognormal 0.3, AR(1) -0.5", n, one_group(0.3, -0.5)});
    one.push_back({"lognormal 0.3, ticks of 20 %", n, read_coarsely(one_group(0.3, 0)), tick});
    const auto every_other = [](Random&, size_t i) { return i % 2 == 1; };
    const auto by_tens = [](Random&, size_t i) { return i / 10 % 2 == 1; };
    const auto one_in = [](uint64_t many) { return [=](Random& random, size_t) { return random() % many == 0; }; };
    two.push_back({"every other 50 % slower", n, two_groups(0.5, every_other)});
    two.push_back({"every other 50 % slower, ticks of 20 %", n, read_coarsely(two_groups(0.5, every_other)), tick});
    two.push_back({"every other 20 % slower", n, two_groups(0.2, every_other)});
    two.push_back({"every other 10 % slower", n, two_groups(0.1, every_other)});
    two.push_back({"ten and ten, 50 % slower", n, two_groups(0.5, by_tens)});
    two.push_back({"one in 3 by chance, 50 % slower", n, two_groups(0.5, one_in(3))});
    two.push_back({"one in 10 by chance, 50 % slower", n, two_groups(0.5, one_in(10))});
  }
  print_table("One group of latencies", one, series, 43'000);
  print_table("Two groups of latencies, each scatters by 3 %", two, series, 43'100);
}

}  // namespace deepgap
