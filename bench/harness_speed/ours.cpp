#include "sides.h"

#include "base/clocks.h"
#include "scenario/arrivals.h"
#include "scenario/scenario.h"
#include "worker/timing_log.h"

#include <array>
#include <atomic>
#include <stdexcept>

namespace deepgap {
namespace {

constexpr uint32_t library_size = 1024;

// Answers inside submit(), each sample for itself, so many in a call.
class InstantTarget final : public Target {
 public:
  explicit InstantTarget(int64_t max_samples) : max_samples_(max_samples) {}
  TargetLimits limits() const override { return {max_samples_, 1}; }
  void on_completion(TargetCompletion completion) override { completion_ = std::move(completion); }
  void load(std::span<const uint32_t>) override {}
  void unload(std::span<const uint32_t>) override {}
  void submit(std::span<const Query> queries) override {
    for (const Query& query : queries) answer(query.id, static_cast<uint32_t>(query.samples.size()));
  }
  void flush() override {}
  void cancel() override {}

 private:
  void answer(uint64_t query, uint32_t samples) {
    for (uint32_t first = 0; first < samples; first += static_cast<uint32_t>(answers_.size())) {
      const uint32_t count = std::min(samples - first, static_cast<uint32_t>(answers_.size()));
      for (uint32_t i = 0; i < count; ++i) {
        answers_[i].query = query;
        answers_[i].first = first + i;
        answers_[i].count = 1;
      }
      completion_(std::span(answers_).first(count));
    }
  }

  int64_t max_samples_;
  std::array<Completed, 256> answers_{};
  TargetCompletion completion_;
};

// Measures how late a thread sees the times of a Poisson process when it only looks at the clock: the machine's share in any lateness.
void spin(double rate, double seconds, LogHistogram& lateness) {
  const auto clock = make_real_clock();
  PoissonArrivals arrivals(rate, 2);
  const Nanoseconds start = clock->now(), length = static_cast<Nanoseconds>(seconds * 1e9);
  for (Nanoseconds due = arrivals.next(); due < length; due = arrivals.next()) {
    Nanoseconds now = clock->now() - start;
    while (now < due) now = clock->now() - start;
    lateness.add(now - due);
  }
}

// One drive() as the worker does it, with the log that it keeps.
struct WorkloadDriver {
  std::unique_ptr<Clock> clock = make_real_clock();
  Heartbeat heartbeat{[](const Frame&) {}, {}};
  TimingLog log{heartbeat};
  OfferedLoad offered;
  std::unique_ptr<Stopping> stopping;

  void run(const std::string& scenario, int64_t batch, const std::map<std::string, std::string>& options,
           const StoppingSettings& settings) {
    InstantTarget target(batch);
    stopping = make_stopping(settings);
    Traffic traffic{&target, {}, batch, stopping.get(), &log};
    for (uint32_t i = 0; i < library_size; ++i) traffic.samples.push_back(i);
    traffic.offered = &offered;
    if (settings.name == "duration") traffic.duration = *settings.duration;
    const auto made = Registry<Scenario>::instance().make("scenario", scenario);
    made->parse(options);
    const std::atomic<bool> interrupted{false};
    made->drive(traffic, *clock, interrupted);
  }
};

StoppingSettings rule(const std::string& name) {
  StoppingSettings settings;
  settings.name = name;
  return settings;
}

}  // namespace

ServerFigures our_server(double rate, double seconds) {
  // Half before and half after: at the same time it would keep the second CPU from whatever else the machine has to do.
  constexpr double spin_s = 0.5;
  LogHistogram spun;
  spin(rate, spin_s, spun);
  WorkloadDriver drive;
  StoppingSettings settings = rule("duration");
  settings.duration = static_cast<Nanoseconds>(seconds * 1e9);
  drive.run("server", 1, {{"rate", std::to_string(rate)}}, settings);
  spin(rate, spin_s, spun);
  const double answered = static_cast<double>(drive.offered.finished_in_time) / seconds;
  const bool kept = drive.offered.waiting == 0;
  const double late = drive.offered.lateness.percentile(99) / 1e3;
  LogHistogram latencies;
  for (const Timing& timing : drive.log.take()) latencies.add(timing.end - timing.scheduled);
  return {answered, kept ? 1.0 : 0.0, latencies.percentile(50) / 1e3, latencies.percentile(99) / 1e3, late, spun.percentile(99) / 1e3};
}

OfflineFigures our_offline(int64_t samples) {
  const auto clock = make_real_clock();
  const Nanoseconds begin = clock->now();
  WorkloadDriver drive;
  drive.run("offline", samples, {{"total_samples", std::to_string(samples)}, {"in_flight", "1"}}, rule("schedule"));
  const std::vector<Timing> timings = drive.log.take();
  const Nanoseconds all = clock->now() - begin;
  if (timings.size() != 1 || timings[0].samples != samples) throw std::runtime_error("offline is one query of all samples");
  const Nanoseconds measured = timings[0].end - timings[0].scheduled;
  const auto n = static_cast<double>(samples);
  return {static_cast<double>(measured) / n, static_cast<double>(all - measured) / n};
}

double our_single_stream_ns(int64_t queries) {
  WorkloadDriver drive;
  StoppingSettings settings = rule("counts");
  settings.iterations = queries;
  drive.run("single-stream", 1, {}, settings);
  const std::vector<Timing> timings = drive.log.take();
  return static_cast<double>(timings.back().begin - timings.front().begin) / static_cast<double>(timings.size() - 1);
}

}  // namespace deepgap
