// Two interleaved engines as each one's own result: are throughput and latency those that it has when it is measured apart? The slices, the
// order, the window and its rule are those of a worker; query times are made by formula on virtual time.
#include "comparisons.h"
#include "simulated_run.h"

#include "base/clocks.h"
#include "plan/duel_turns.h"
#include "record/verdict.h"
#include "run/interleave.h"
#include "scenario/scenario.h"
#include "stats/percentile.h"
#include "stats/sequential.h"
#include "worker/sliced_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace deepgap {
namespace {

constexpr double margin = 0.02;

// An engine that is driven query after query; `now` is common to both.
class SimulatedScenario final : public Scenario {
 public:
  SimulatedScenario(std::function<double(double now)> query_s, Nanoseconds& now) : query_s_(std::move(query_s)), now_(now) {}
  std::string name() const override { return "simulated"; }
  std::string describe() const override { return {}; }
  std::vector<OptionInfo> options() const override { return {}; }
  void parse(const std::map<std::string, std::string>& /*options*/) override {}
  void drive(const Traffic& traffic, Clock& /*clock*/, const std::atomic<bool>& /*interrupted*/) override {
    while (traffic.stopping->state() == Stopping::State::more) {
      const auto length = static_cast<Nanoseconds>(query_s_(static_cast<double>(now_) / 1e9) * 1e9);
      traffic.sink->add({query_++, now_, now_, now_ + length, 1, Status::ok});
      now_ += length;
    }
  }

 private:
  std::function<double(double now)> query_s_;
  Nanoseconds& now_;
  uint64_t query_ = 0;
};

struct Latencies final : TimingSink {
  void add(const Timing& timing) override { ms.push_back(static_cast<double>(timing.end - timing.begin) / 1e6); }
  std::vector<double> ms;
};

// Two engines, the second `ratio` times as fast. After a pause, caches are cold for `chills_s`: queries that begin then take half as long
// again.
struct Row {
  std::string name;
  std::function<QuerySource(Random&, double mean)> engine;
  std::function<QuerySource(Random&)> machine;  // factor on every query's time, with its long-run mean; empty: 1
  double query_s = 0.005, chills_s = 0;
};

struct Result {
  Estimate throughput, p50;
  bool valid = false;
  double window_s = 0;
};

// One engine with its window, as its worker has it.
struct Arm {
  Arm(const QuerySource& source, const std::function<double(double now)>& machine, double chills_s, const StoppingSettings& settings,
      Nanoseconds& now)
      : rule(make_stopping(settings)), window(*rule, latencies), scenario(query_of(source, machine, chills_s), now) {}

  std::function<double(double now)> query_of(const QuerySource& source, const std::function<double(double now)>& machine, double chills_s) {
    return [this, source, machine, chills_s](double now) {
      const bool is_cold = now - resumed_s < chills_s;
      return source.next(now) * (machine ? machine(now) : 1) * (is_cold ? 1.5 : 1);
    };
  }
  bool ended() const { return rule->state() != Stopping::State::more; }
  Result result() const {
    Result result{rule->throughput(), {}, is_sound(rule->verdict().verdict), static_cast<double>(window.length()) / 1e9};
    const auto p50 = estimate_percentile(latencies.ms, 50);
    result.p50.value = p50.value;
    if (p50.interval) result.p50.low = p50.interval->low, result.p50.high = p50.interval->high;
    return result;
  }

  Latencies latencies;
  std::unique_ptr<Stopping> rule;
  SlicedWindow window;
  SimulatedScenario scenario;
  double resumed_s = 0;
};

struct Interleaved {
  Result arms[2];
  bool stated = false, covers = false;
};

// As run/duel.cpp drives them.
Interleaved interleave(const Row& row, Random& random, double ratio, const StoppingSettings& settings) {
  Nanoseconds now = 0;
  const auto clock = make_virtual_clock();
  const std::atomic<bool> interrupted = false;
  const auto machine = row.machine ? row.machine(random).next : std::function<double(double now)>();
  const QuerySource sources[2] = {row.engine(random, row.query_s), row.engine(random, row.query_s / ratio)};
  std::unique_ptr<Arm> arms[2];
  for (size_t i = 0; i < 2; ++i) arms[i] = std::make_unique<Arm>(sources[i], machine, row.chills_s, settings, now);
  DuelTurns turns(2, random());
  PairedSequence pairs(margin);
  const Nanoseconds slice = slice_length(settings);
  for (int64_t pair = 0; !arms[0]->ended() || !arms[1]->ended(); ++pair) {
    SlicedWindow::Gave gave[2];
    for (const size_t i : turns.next_round()) {
      if (arms[i]->ended()) continue;
      arms[i]->resumed_s = static_cast<double>(now) / 1e9;
      gave[i] = arms[i]->window.take(arms[i]->scenario, {}, *clock, interrupted, slice, pair);
    }
    pairs.add(gave[1].items_per_s, gave[0].items_per_s, gave[0].seconds + gave[1].seconds);
  }
  Interleaved found{{arms[0]->result(), arms[1]->result()}};
  if (const auto& look = pairs.last_look()) {
    found.stated = look->is_stated();
    found.covers = look->interval.low <= ratio && ratio <= look->interval.high;
  }
  return found;
}

std::vector<Row> rows() {
  const auto white = [](Random& r, double mean) { return white_source(r, mean, 0.05); };
  return {
      {"white, cv 5 %", white, nullptr},
      {"white, cv 5 %, caches cold for 20 ms", white, nullptr, 0.005, 0.02},
      {"white, cv 5 %, 50 ms, caches cold for 20 ms", white, nullptr, 0.05, 0.02},
      {"white, cv 5 %, 300 ms", white, nullptr, 0.3},
      {"lognormal, sigma 0.3", [](Random& r, double mean) { return lognormal_source(r, mean, 0.3); }, nullptr},
      {"AR(1) 0.9, cv 5 %", [](Random& r, double mean) { return ar1_source(r, mean, 0.05, 0.9); }, nullptr},
      {"AR(1) 0.99, cv 5 %", [](Random& r, double mean) { return ar1_source(r, mean, 0.05, 0.99); }, nullptr},
      {"modes 10 % apart, dwell 1 s", [](Random& r, double mean) { return modes_source(r, mean, 0.1, 1); }, nullptr},
      {"1 % five times as long", [](Random& r, double mean) { return spikes_source(r, mean, 100, 5); }, nullptr},
      {"machine: modes 10 % apart, dwell 1 s", white, [](Random& r) { return modes_source(r, 1, 0.1, 1); }},
      {"machine: modes 10 % apart, dwell 10 s", white, [](Random& r) { return modes_source(r, 1, 0.1, 10); }},
      {"machine: modes 30 % apart, dwell 1 s", white, [](Random& r) { return modes_source(r, 1, 0.3, 1); }},
  };
}

struct Counts {
  int covered = 0, p50_covered = 0, valid = 0, all = 0;
  std::vector<double> off, widths;
  void add(const Result& result, double mean_s, double median_s) {
    ++all;
    covered += holds(result.throughput, 1 / mean_s) ? 1 : 0;
    p50_covered += median_s > 0 && holds(result.p50, median_s * 1e3) ? 1 : 0;
    valid += result.valid ? 1 : 0;
    off.push_back(std::abs(result.throughput.value * mean_s - 1) * 100);
    if (result.throughput.low && result.throughput.high)
      widths.push_back((*result.throughput.high - *result.throughput.low) / 2 / result.throughput.value * 100);
  }
};

Result measured_apart(const QuerySource& source, const std::function<double(double now)>& machine, const StoppingSettings& settings) {
  const QuerySource both{[&](double now) { return source.next(now) * (machine ? machine(now) : 1); }, 0, 0};
  const SimulatedRun run = simulate_run(both, settings);
  return {run.throughput, run.p50, is_sound(run.verdict), run.window_s};
}

}  // namespace

void print_interleaved(int series) {
  constexpr double ratio = 1.2;
  StoppingSettings settings;
  settings.duration = 10'000'000'000;  // as plan/expand.cpp
  fmt::print(
      "\nTwo interleaved engines, the second 1.2 times as fast, at the default settings: the first one's result, and the same engine "
      "measured "
      "apart, {} a row\n",
      series);
  fmt::print(
      "| series | covers, % | p50 covers, % | valid, % | off by, % (median) | half-width, % | apart: covers, % | apart: p50 covers, % | "
      "apart: valid, % | apart: off by, % (median) | ratio stated, % | of these cover, % |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  uint64_t seed = 6300;
  for (const Row& row : rows()) {
    Random random(++seed);
    Counts together, apart;
    int stated = 0, ratio_covered = 0;
    bool has_median = false;
    for (int i = 0; i < series; ++i) {
      const Interleaved found = interleave(row, random, ratio, settings);
      const QuerySource source = row.engine(random, row.query_s);
      has_median = source.median > 0 && !row.machine;
      const QuerySource machine = row.machine ? row.machine(random) : QuerySource{nullptr, 1, 1};
      const double mean = source.mean * machine.mean, median = has_median ? source.median : 0;
      together.add(found.arms[0], mean, median);
      apart.add(measured_apart(source, machine.next, settings), mean, median);
      stated += found.stated ? 1 : 0;
      ratio_covered += found.stated && found.covers ? 1 : 0;
    }
    const auto p50 = [&](const Counts& counts) {
      return has_median ? fmt::format("{:.1f}", percent(counts.p50_covered, counts.all)) : std::string("-");
    };
    fmt::print("| {} | {:.1f} | {} | {:.1f} | {:.2f} | {:.2f} | {:.1f} | {} | {:.1f} | {:.2f} | {:.1f} | {} |\n", row.name,
               percent(together.covered, series), p50(together), percent(together.valid, series), median_of(together.off),
               median_of(together.widths), percent(apart.covered, series), p50(apart), percent(apart.valid, series), median_of(apart.off),
               percent(stated, series), stated * 50 < series ? "-" : fmt::format("{:.1f}", percent(ratio_covered, stated)));
    std::fflush(stdout);
  }
}

}  // namespace deepgap
