#include "simulated_run.h"

#include "scenario/stopping.h"
#include "stats/percentile.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace deepgap {
namespace {

// Queries back to back from `now` on until the rule has enough.
void feed(const QuerySource& source, Stopping& rule, Nanoseconds most, Nanoseconds& now, std::vector<double>* latencies) {
  const Nanoseconds begin = now;
  for (uint64_t query = 0; rule.state() == Stopping::State::more && now - begin < most; ++query) {
    const auto length = static_cast<Nanoseconds>(source.next(static_cast<double>(now) / 1e9) * 1e9);
    const Timing timing{query, now, now, now + length, 1, Status::ok};
    now += length;
    if (latencies) latencies->push_back(static_cast<double>(length) / 1e6);
    rule.add(std::span(&timing, 1));
  }
}

}  // namespace

SimulatedRun simulate_run(const QuerySource& source, const StoppingSettings& settings) {
  SimulatedRun run;
  Nanoseconds now = 0;
  const auto warmup = make_warmup(settings);
  feed(source, *warmup, never, now, nullptr);
  run.first_warmup_s = static_cast<double>(now) / 1e9;
  run.was_steady = warmup->state() == Stopping::State::enough;
  std::unique_ptr<Stopping> window;
  std::vector<double> latencies;
  Nanoseconds begin = 0;
  do {  // a window whose beginning was still warming up belongs to the warm-up, as in a worker
    window = make_stopping(settings);
    latencies.clear();
    begin = now;
    feed(source, *window, never, now, &latencies);
    ++run.windows;
  } while (window->verdict().warming && begin < settings.warmup_budget);
  run.warmup_s = static_cast<double>(begin) / 1e9;
  run.window_s = static_cast<double>(now - begin) / 1e9;
  run.throughput = window->throughput();
  const auto p50 = estimate_percentile(latencies, 50);
  run.p50 = {p50.value, {}, {}, static_cast<int64_t>(latencies.size())};
  if (p50.interval) {
    run.p50.low = p50.interval->low;
    run.p50.high = p50.interval->high;
  }
  const WindowVerdict verdict = window->verdict();
  run.verdict = verdict.verdict;
  run.reason = verdict.reason;
  return run;
}

Record repeat_of(Random& random, double truth, double process, bool wide, int repeat, int64_t batch, const std::string& run) {
  std::normal_distribution<double> normal;
  const double own = wide ? 0.007 : 0.003, value = truth * std::exp(process * normal(random) + own * normal(random));
  Record record;
  record.run_id = run;
  record.repeat = repeat;
  record.point.model = "a";
  record.point.batch = batch;
  record.stopping.interval = asked_of_repeats;
  record.verdict = wide ? Verdict::unstable : Verdict::valid;
  if (wide) record.reason = "throughput +-1.4% at the budget of 2 s, asked 1%";
  record.estimates["throughput"] = {value, value * (1 - 2 * own), value * (1 + 2 * own), 1000};
  return record;
}

bool holds(const Estimate& estimate, double truth) {
  return estimate.low && *estimate.low <= truth && (!estimate.high || truth <= *estimate.high);
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

double percent(int part, int whole) { return whole == 0 ? 0 : 100.0 * part / whole; }

MeanEstimate as_repeat(const Estimate& throughput) {
  MeanEstimate repeat{throughput.value, 0, 31, throughput.n};
  if (throughput.low) repeat.variance_of_mean = std::pow((throughput.value - *throughput.low) / 2.04, 2);
  return repeat;
}

}  // namespace deepgap
