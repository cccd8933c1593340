// Peak searches on simulated servers in virtual time, with the planner, the windows, the arrivals and the verdicts of a real one: how far
// the answer is from the load at which the bound is just held in the long run, and what it took.
#include "searches.h"
#include "simulated_run.h"

#include "analysis/latency_percentile.h"
#include "plan/peak_planner.h"
#include "scenario/fake_target.h"
#include "scenario/test_drive.h"
#include "stats/test_sources.h"
#include "worker/bounded_window.h"
#include "worker/peak_probe.h"
#include "worker/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {
namespace {

constexpr double ms = 1e6;
constexpr Nanoseconds window = 10'000'000'000;  // as cli/peak_study.cpp

// One query at a time, of `service_ms` on average: exponential (M/M/1) or always the same (M/D/1).
struct Server {
  double service_ms = 1;
  bool random = false;
};

// P(response > t) at `load`, both in service times. M/M/1: exponential with rate 1 - load. M/D/1: Erlang's sum for the wait, beyond 6 its
// exponential tail (Tijms, A First Course in Stochastic Models, 9.2), where the sum loses its digits.
double tail_of_wait(double load, double t) {
  if (t < 0) return 1;
  if (t > 6) {
    double low = 1e-9, high = 60;  // bounds of theta: load (e^theta - 1) = theta, theta > 0
    for (int i = 0; i < 200; ++i) {
      const double middle = (low + high) / 2;
      (load * std::expm1(middle) < middle ? low : high) = middle;
    }
    return (1 - load) / (load * std::exp(low) - 1) * std::exp(-low * t);
  }
  double sum = 0;
  for (int k = 0; k <= static_cast<int>(t); ++k) {
    double term = std::exp(load * (t - k));
    for (int i = 1; i <= k; ++i) term *= -load * (t - k) / i;
    sum += term;
  }
  return 1 - (1 - load) * sum;
}

double late_share(const Server& server, double load, double bound) {
  return server.random ? std::exp(-bound * (1 - load)) : tail_of_wait(load, bound - 1);
}

// Returns, in service times, the bound that 1 % of the queries miss at that load.
double bound_for(const Server& server, double load) {
  double low = 1, high = 10'000;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (late_share(server, load, middle) > 0.01 ? low : high) = middle;
  }
  return low;
}

// One run of the search: a window as a worker drives and judges it.
Record run_of(const Job& job, const Server& server, const LatencyBound& bound, uint64_t seed) {
  const double rate = *load_of(job.point);
  const StoppingSettings settings = grown_settings(job.stopping, bound, rate, BoundRule::nearest_rank);
  Driven run;
  run.stopping = make_stopping(settings);
  if (job.point.options.at("peak") != "refine") run.stopping = until_hopeless(std::move(run.stopping), bound, *settings.duration, rate);
  Random random(seed);
  std::exponential_distribution<double> service(1 / (server.service_ms * ms));
  ScriptedTarget target(*run.clock, {1, 1},
                        [&](uint64_t) { return static_cast<Nanoseconds>(server.random ? service(random) : server.service_ms * ms) + 1; });
  const auto scenario = Registry<Scenario>::instance().make("scenario", "server");
  scenario->parse({{"rate", fmt::format("{:.9g}", rate)}, {"seed", std::to_string(seed)}});
  Traffic traffic{&target, {0}, 1, run.stopping.get(), &run.kept};
  traffic.duration = *settings.duration;
  traffic.lead = scenario->lead(traffic.duration);
  traffic.offered = &run.offered;
  traffic.failures = &run.failures;
  scenario->drive(traffic, *run.clock, run.interrupted);

  std::vector<double> latencies;
  LatencySummary summary;
  for (const Timing& timing : run.kept.timings) {
    const auto latency = static_cast<double>(timing.end - timing.scheduled);
    latencies.push_back(latency / ms);
    summary.shortest = latencies.size() == 1 ? latency : std::min(summary.shortest, latency);
    summary.missed += timing.end - timing.scheduled > bound.limit ? 1 : 0;
  }
  summary.count = static_cast<int64_t>(latencies.size());
  Record record;
  record.point = job.point;
  record.repeat = job.repeat;
  if (!latencies.empty()) {
    record.estimates["latency_p99_ms"] = percentile_of_series(latencies, 99);
    summary.at_bound = record.estimates["latency_p99_ms"].value * ms;
    record.estimates["missed_share"] = {static_cast<double>(summary.missed) / static_cast<double>(summary.count), {}, {}, summary.count};
  }
  const Judgement judgement = judge_window({*run.stopping, run.offered, bound, BoundRule::nearest_rank, summary, "", ""});
  record.verdict = judgement.verdict;
  record.reason = judgement.reason;
  record.windows = {{"steady", 0, run.clock->now()}};  // all that it took
  return record;
}

struct Found {
  PeakResult result;
  double seconds = 0;
};

Found search(const Server& server, const LatencyBound& bound, double interval, uint64_t seed) {
  PeakOrder order;
  order.axis = *load_axis("server");
  order.bound = bound.text;
  order.limit_ms = static_cast<double>(bound.limit) / ms;
  order.percentile_id = "latency_p99_ms";
  order.decided_by = fewest_queries(bound);
  order.settings.lowest = 1.5 * static_cast<double>(order.decided_by) * 1e9 / static_cast<double>(window);
  order.settings.from = 2 * order.settings.lowest;
  order.settings.allowed_share = 1 - bound.percent / 100;
  order.settings.interval = interval;
  Job job;
  job.point.scenario = "server";
  job.point.options = {{"bound", bound.text}, {"peak", "search"}};
  job.stopping.name = "duration";
  job.stopping.duration = window;
  const SearchRun run{[](const Job&) { return "group"; }, [] { return 0.0; }, [](const Job&, const Job&) {},
                      [](const Job&) { return std::nullopt; }};
  PeakPlanner planner({job}, order, run);
  Found found;
  for (Batch batch = planner.next(); !batch.jobs.empty(); batch = planner.next()) {
    const Record record = run_of(batch.jobs.front(), server, bound, seed * 1000 + static_cast<uint64_t>(batch.jobs.front().repeat));
    found.seconds += static_cast<double>(record.windows.front().end) / 1e9;
    planner.done(record);
  }
  found.result = planner.found().front().result;
  return found;
}

std::string text_of(double value) { return fmt::format("{:.1f}", value); }

void print_row(const Server& server, double utilisation, double interval, uint64_t seed, int series) {
  const double truth = utilisation * 1000 / server.service_ms;
  const LatencyBound bound = parse_latency_bound(fmt::format("p99={:.9g}ms", bound_for(server, utilisation) * server.service_ms));
  int confirmed = 0, near_confirmed = 0, stated = 0, covers = 0, near = 0;
  std::vector<double> off_confirmed, off, widths, runs, times;
  for (int i = 0; i < series; ++i) {
    const Found found = search(server, bound, interval, seed * 100'000 + static_cast<uint64_t>(i));
    const PeakResult& result = found.result;
    runs.push_back(result.all_runs);
    times.push_back(found.seconds);
    if (result.ending != PeakResult::Ending::confirmed) continue;
    ++confirmed;
    off_confirmed.push_back((result.load / truth - 1) * 100);
    near_confirmed += std::abs(std::log(result.load / truth)) <= std::log(1.03) ? 1 : 0;
    if (!result.crossing || !result.crossing->interval) continue;
    ++stated;
    const auto& [low, high] = *result.crossing->interval;
    covers += low <= truth && truth <= high ? 1 : 0;
    near += std::abs(std::log(result.crossing->load / truth)) <= std::log(1.03) ? 1 : 0;
    off.push_back((result.crossing->load / truth - 1) * 100);
    widths.push_back(low > 0 ? std::log(high / low) / 2 * 100 : 1e3);
  }
  const auto share = [&](int count) { return text_of(100.0 * count / series); };
  fmt::print("| {}, {:g} ms | {:g} | {} | {} | {:.1f} | {} | {} | {} | {:.1f} | {:.1f} | {:.0f} | {:.0f} |\n",
             server.random ? "M/M/1" : "M/D/1", server.service_ms, utilisation, share(confirmed), share(near_confirmed),
             median_of(off_confirmed), share(stated), stated == 0 ? "-" : text_of(100.0 * covers / stated), share(near), median_of(off),
             median_of(widths), median_of(runs), median_of(times));
  std::fflush(stdout);
}

void print_table(double interval, const std::vector<Server>& servers, uint64_t seed, int series) {
  fmt::print("\n{}, {} searches a row\n",
             interval > 0
                 ? fmt::format("The same with --peak-interval {:g}%", interval * 100)
                 : "Searches for the largest rate that holds p99, windows of 10 s, against the rate at which 1 % are late in the long run",
             series);
  fmt::print(
      "| server | at its peak it is busy | confirmed, % | load within 3 % of the truth, % | load off by, % (median) | tells where it is "
      "just "
      "held, % | of these cover, % | that within 3 %, % | that off by, % (median) | half-width, % | runs | s |\n| --- | --- | --- | --- | "
      "--- | "
      "--- | --- | --- | --- | --- | --- | --- |\n");
  for (const Server& server : servers)
    for (const double utilisation : {0.3, 0.5, 0.8, 0.95}) print_row(server, utilisation, interval, ++seed, series);
}

}  // namespace

void print_peaks(int series) {
  print_table(0, {{1, true}, {1, false}, {5, true}, {5, false}}, 9700, series);
  print_table(0.03, {{1, true}, {1, false}, {5, false}}, 9750, std::max(1, series / 4));
}

}  // namespace deepgap
