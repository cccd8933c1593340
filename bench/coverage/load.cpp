// Verdicts about load: whether a latency bound is held, and whether a server is overloaded, with the classes that judge.
#include "comparisons.h"
#include "simulated_run.h"

#include "analysis/pooled_bound.h"
#include "scenario/fake_target.h"
#include "scenario/test_drive.h"
#include "stats/test_sources.h"
#include "worker/bounded_window.h"
#include "worker/load_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace deepgap {
namespace {

constexpr Nanoseconds ms = 1'000'000, second = 1'000 * ms;
constexpr int64_t most_queries = 3000;  // a budget of 30 s at 10 ms a query

// Decides which queries are late: each by chance, or in stretches whose lengths have the mean `stretch` (1: by chance).
class Lateness {
 public:
  Lateness(Random& random, double share, double stretch) : random_(random), share_(share), stretch_(stretch), late_(draw(share)) {}
  bool next() {
    if (stretch_ <= 1) return draw(share_);
    const double leave_late = 1 / stretch_, leave_good = leave_late * share_ / (1 - share_);
    late_ = late_ ? !draw(leave_late) : draw(leave_good);
    return late_;
  }

 private:
  bool draw(double probability) { return std::bernoulli_distribution(probability)(random_); }
  Random& random_;
  double share_, stretch_;
  bool late_;
};

struct Counted {
  int64_t queries = 0, missed = 0;
};

Verdict verdict_of(const LatencyBound& bound, const Counted& seen, BoundRule rule) {
  const auto shortest = static_cast<double>(bound.limit) / 2;
  const bool above = seen.missed > misses_allowed(bound, seen.queries);
  return judge_load({}, bound, {seen.queries, shortest, shortest * (above ? 4 : 1), seen.missed, 0}, rule).verdict;
}

// A loop of its own that measures for a second at least, and on until it is decided or 30 s are over.
Counted until_it_is_decided(const LatencyBound& bound, Lateness late, BoundRule rule) {
  StoppingSettings settings = lasting(second);
  const auto stopping = until_decided(make_stopping(settings), bound, 30 * second, rule);
  Counted seen;
  for (Nanoseconds now = 0; stopping->state() == Stopping::State::more && seen.queries < most_queries; now += 10 * ms) {
    const bool is_late = late.next();
    const Nanoseconds end = now + 10 * ms, latency = is_late ? 2 * bound.limit : bound.limit / 2;
    const Timing timing{static_cast<uint64_t>(seen.queries), end - latency, now, end, 1, Status::ok};
    stopping->add(std::span(&timing, 1));
    ++seen.queries;
    seen.missed += is_late ? 1 : 0;
  }
  return seen;
}

void print_single_bounds(int series) {
  fmt::print("\nThe bound p99, one run of a closed loop of 10 ms, 1 s at least and 30 s at most, {} series a row\n", series);
  fmt::print(
      "| late, % | in stretches of | simpler rule: held, % | held, % | missed, % | not enough data, % | queries, median |\n| --- | --- | "
      "--- | "
      "--- | "
      "--- | --- | --- |\n");
  const LatencyBound bound = parse_latency_bound("p99=15ms");
  uint64_t seed = 8000;
  for (const auto& [late, stretch] :
       {std::pair(0.1, 1.0), {0.5, 1.0}, {0.9, 1.0}, {1.0, 1.0}, {1.1, 1.0}, {1.5, 1.0}, {2.0, 1.0}, {5.0, 1.0}, {1.0, 3.0}, {1.5, 3.0}}) {
    Random random(++seed);
    int before = 0, held = 0, missed = 0;
    std::vector<int64_t> queries;
    for (int i = 0; i < series; ++i) {
      const Counted ranked = until_it_is_decided(bound, Lateness(random, late / 100, stretch), BoundRule::nearest_rank);
      before += verdict_of(bound, ranked, BoundRule::nearest_rank) == Verdict::valid ? 1 : 0;
      const Counted shown = until_it_is_decided(bound, Lateness(random, late / 100, stretch), BoundRule::shown);
      const Verdict verdict = verdict_of(bound, shown, BoundRule::shown);
      held += verdict == Verdict::valid ? 1 : 0;
      missed += verdict == Verdict::invalid ? 1 : 0;
      queries.push_back(shown.queries);
    }
    std::nth_element(queries.begin(), queries.begin() + series / 2, queries.end());
    fmt::print("| {:.1f} | {:.0f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {} |\n", late, stretch, percent(before, series),
               percent(held, series), percent(missed, series), percent(series - held - missed, series),
               queries[static_cast<size_t>(series) / 2]);
    std::fflush(stdout);
  }
}

// Repeats of 300 queries each; the share that is late differs from process to process by a lognormal factor.
void print_pooled_bounds(int series) {
  fmt::print("\nThe bound p99 over repeats of 300 queries each, processes' late shares apart by a factor of e^sigma, {} series a row\n",
             series);
  fmt::print(
      "| late on average, % | sigma | repeats | one of them alone decides, % | held, % | missed, % | not enough data, % |\n| --- | --- | "
      "--- | "
      "--- | --- | --- | --- |\n");
  const LatencyBound bound = parse_latency_bound("p99=15ms");
  Point point;
  point.options["bound"] = bound.text;
  uint64_t seed = 8100;
  for (const auto& [late, sigma] :
       {std::pair(0.1, 0.0), {0.1, 0.5}, {1.0, 0.0}, {1.0, 0.5}, {1.5, 0.0}, {1.5, 0.5}, {3.0, 0.0}, {3.0, 0.5}}) {
    for (const size_t repeats : {3u, 5u, 10u}) {
      Random random(++seed);
      int held = 0, missed = 0, alone = 0;
      for (int i = 0; i < series; ++i) {
        std::vector<Estimate> shares;
        bool any = false;
        for (size_t k = 0; k < repeats; ++k) {
          const double own = std::min(1.0, late / 100 * std::exp(sigma * std::normal_distribution<double>()(random) - sigma * sigma / 2));
          const auto of = static_cast<double>(std::binomial_distribution<int64_t>(300, own)(random));
          any = any || answer_of(bound, 300, std::llround(of)) != BoundAnswer::unknown;
          shares.push_back({of / 300, {}, {}, 300});
        }
        const BoundAnswer answer = pooled_bound(point, shares)->answer;
        held += answer == BoundAnswer::held ? 1 : 0;
        missed += answer == BoundAnswer::missed ? 1 : 0;
        alone += any ? 1 : 0;
      }
      fmt::print("| {:.1f} | {:.1f} | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n", late, sigma, repeats, percent(alone, series),
                 percent(held, series), percent(missed, series), percent(series - held - missed, series));
      std::fflush(stdout);
    }
  }
}

}  // namespace

void print_bounds(int series) {
  print_single_bounds(series);
  print_pooled_bounds(series);
}

void print_overloads(int series) {
  fmt::print(
      "\nA server of exponential service times under random arrivals (M/M/1), a window of 10 s and its lead of 2 s, {} series a row\n",
      series);
  fmt::print(
      "| service, ms | load over what it can do | simpler rule: overloaded, % | overloaded, % | inconclusive, % |\n| --- | --- | --- | --- "
      "| "
      "--- "
      "|\n");
  uint64_t seed = 8200;
  for (const double service_ms : {5.0, 30.0, 100.0}) {
    for (const double load : {0.5, 0.8, 0.9, 0.95, 1.05, 1.1, 1.2, 1.5, 2.0, 4.0}) {
      Random random(++seed);
      int before = 0, overloaded = 0, untold = 0;
      for (int i = 0; i < series; ++i) {
        Driven run;
        std::exponential_distribution<double> service(1 / (service_ms * static_cast<double>(ms)));
        run.lead = 2 * second;  // as ArrivalScenario::lead
        ScriptedTarget target(*run.clock, {1, 1}, [&](uint64_t) { return static_cast<Nanoseconds>(service(random)) + 1; });
        run.drive(target, "server", 1, lasting(10 * second),
                  {{"rate", fmt::format("{:.9g}", load * 1000 / service_ms)},
                   {"seed", std::to_string(seed * 100'000 + static_cast<uint64_t>(i))}});
        const Verdict verdict = judge_load(run.offered, {}, {}).verdict;
        before += run.offered.waiting > 0 || run.offered.has_long_wait() ? 1 : 0;
        overloaded += verdict == Verdict::invalid ? 1 : 0;
        untold += verdict == Verdict::undecided ? 1 : 0;
      }
      fmt::print("| {:g} | {:g} | {:.1f} | {:.1f} | {:.1f} |\n", service_ms, load, percent(before, series), percent(overloaded, series),
                 percent(untold, series));
      std::fflush(stdout);
    }
  }
}

}  // namespace deepgap
