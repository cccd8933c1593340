#include "energy.h"

#include "analysis/metric.h"
#include "stats/test_series.h"
#include "stats/test_sources.h"

#include <deepgap/record.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace deepgap {
namespace {

constexpr Nanoseconds ms = 1'000'000;
constexpr double mean_w = 400, queries_per_s = 200;
constexpr size_t before_ms = 500;  // before the window that is measured, and as much behind it

// Watts of each millisecond.
using Power = std::function<std::vector<double>(Random&, size_t)>;

struct Row {
  std::string name;
  Power power;
  bool coupled;  // throughput goes as power does
};

// Makes a power with one value per millisecond, which is forgotten after `tau_s`.
Power wandering(double share, double tau_s) {
  return [=](Random& random, size_t n) {
    std::vector<double> watts = ar1_series(random, n, 0, mean_w * share, std::exp(-1e-3 / tau_s));
    for (double& w : watts) w += mean_w;
    return watts;
  };
}

Power square(double share, double period_s) {
  return [=](Random& random, size_t n) {
    const double phase = std::uniform_real_distribution<double>(0, 1)(random);
    std::vector<double> watts(n);
    for (size_t i = 0; i < n; ++i) {
      const double at = static_cast<double>(i) * 1e-3 / period_s + phase;
      watts[i] = mean_w * (1 + (at - std::floor(at) < 0.5 ? share : -share));
    }
    return watts;
  };
}

std::vector<Row> rows() {
  return {
      {"flat", wandering(0, 1), false},
      {"scatter 5 %, forgotten after 10 ms", wandering(0.05, 0.01), false},
      {"scatter 5 %, after 0.2 s", wandering(0.05, 0.2), false},
      {"scatter 5 %, after 1 s", wandering(0.05, 1), false},
      {"the same, throughput goes with it", wandering(0.05, 1), true},
      {"two levels 10 % apart, 2 s", square(0.05, 2), false},
  };
}

struct Simulated {
  Record record;
  double joules = 0;  // energy of the window
};

Simulated simulate(Random& random, const Row& row, double window_s) {
  const auto length = static_cast<size_t>(window_s * 1000), all = length + 2 * before_ms;
  const std::vector<double> watts = row.power(random, all);
  Simulated made;
  Record& record = made.record;
  record.point.placement.devices = {{"", "cuda", 0}};
  record.verdict = Verdict::valid;
  const Nanoseconds begin = static_cast<Nanoseconds>(before_ms) * ms, end = begin + static_cast<Nanoseconds>(length) * ms;
  record.windows = {{"steady", begin, end}};
  Series counter{"nvml", "energy.cuda0", "J", true, {}, {}}, power{"nvml", "power.cuda0", "W", false, {}, {}};
  const size_t step_phase = std::uniform_int_distribution<size_t>(0, 99)(random);
  size_t next_step = step_phase, next_reading = 0;
  double joules = 1000, shown = joules, due = 0;
  uint64_t query = 0;
  for (size_t i = 0; i < all; ++i) {
    const Nanoseconds now = static_cast<Nanoseconds>(i) * ms;
    if (i == next_step) {
      shown = joules;
      next_step += 98 + std::uniform_int_distribution<size_t>(0, 4)(random);  // 100 ms, nearly
    }
    if (i == next_reading) {
      counter.times.push_back(now);
      counter.values.push_back(shown);
      power.times.push_back(now);
      power.values.push_back(watts[i]);
      next_reading += 100 + std::uniform_int_distribution<size_t>(0, 3)(random);
    }
    joules += watts[i] * 1e-3;
    const bool inside = now >= begin && now < end;
    if (inside) made.joules += watts[i] * 1e-3;
    due += queries_per_s * 1e-3 * (row.coupled ? watts[i] / mean_w : 1);
    while (due >= 1) {
      due -= 1;
      const Nanoseconds of_query = static_cast<Nanoseconds>(1e9 / queries_per_s);
      if (inside) record.timings.push_back({query++, now - of_query, now - of_query, now, 1, Status::ok});
    }
  }
  record.series = {std::move(counter), std::move(power)};
  return made;
}

bool holds(const Estimate& estimate, double truth) {
  return estimate.low && estimate.high && *estimate.low <= truth && truth <= *estimate.high;
}

struct Count {
  const char* metric;
  int held = 0;
  std::vector<double> widths;
  void add(const Record& record, double truth) {
    const Estimate& e = record.estimates.at(metric);
    held += holds(e, truth) ? 1 : 0;
    if (e.low && e.high) widths.push_back((*e.high - *e.low) / 2 / e.value * 100);
  }
  std::string cells(int series) {
    if (widths.empty()) return "- | -";
    std::nth_element(widths.begin(), widths.begin() + static_cast<std::ptrdiff_t>(widths.size() / 2), widths.end());
    return fmt::format("{:.1f} | {:.2f}", 100.0 * held / series, widths[widths.size() / 2]);
  }
};

void print_rows(int series, double window_s) {
  fmt::print("\nEnergy of a window of {:g} s, {} series a row: a counter that steps every 100 ms, readings every 100 ms\n", window_s,
             series);
  fmt::print(
      "| power | window's own covers, % | half-width, % | long-run power covers, % | half-width, % | long-run J an item covers, % | "
      "half-width, % |\n| --- | --- | --- | --- | --- | --- | --- |\n");
  uint64_t seed = 7000;
  for (const Row& row : rows()) {
    Random random(++seed);
    Count own{"energy_j"}, power{"power_long_run_w"}, item{"energy_long_run_j_per_item"};
    for (int i = 0; i < series; ++i) {
      Simulated made = simulate(random, row, window_s);
      compute_metrics(made.record);
      own.add(made.record, made.joules);
      power.add(made.record, mean_w);
      item.add(made.record, mean_w / queries_per_s);
    }
    fmt::print("| {} | {} | {} | {} |\n", row.name, own.cells(series), power.cells(series), item.cells(series));
    std::fflush(stdout);
  }
}

}  // namespace

void print_energy(int series) {
  for (const double window_s : {10.0, 30.0}) print_rows(series, window_s);
}

}  // namespace deepgap
