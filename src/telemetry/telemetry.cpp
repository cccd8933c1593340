#include "telemetry/affinity.h"
#include "telemetry/environment.h"
#include "telemetry/probe.h"
#include "telemetry/reading_threads.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace deepgap {
namespace {

// The pace at which one thread reads its probes.
struct Pace {
  Nanoseconds period, slow_period;
  double share_of_a_core;  // at most, for each probe; edges are read in any case
  bool is_lowest_priority;
};

// Probes that are read at the same pace, and the thread that does it.
class ProbeThread {
 public:
  ProbeThread(Clock& clock, const Pace& pace) : clock_(clock), pace_(pace) {}

  void add(std::unique_ptr<Probe> probe) { probes_.push_back({std::move(probe), 0, began_ + pace_.slow_period}); }
  void start() {
    if (probes_.empty()) return;
    read_due(true);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  void edge() { read_due(true); }

  // Calls `visit` with every probe and the share of a core that it takes, while none is read.
  template <typename Visit>
  void for_each(Visit visit) const {
    const std::lock_guard lock(mutex_);
    const Nanoseconds life = clock_.now() - began_;
    for (const Row& row : probes_) visit(*row.probe, life > 0 ? static_cast<double>(row.spent) / static_cast<double>(life) : 0);
  }

 private:
  struct Row {
    std::unique_ptr<Probe> probe;
    Nanoseconds next = 0, next_slow = 0;
    Nanoseconds spent = 0;  // CPU time of its readings so far
  };

  // CPU time of the calling thread: what a reading costs, not how long the driver lets it wait.
  static Nanoseconds thread_cpu_time() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return Nanoseconds{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }

  template <typename Read>
  static void charge(Row& row, Read read) {
    const Nanoseconds before = thread_cpu_time();
    read();
    row.spent += thread_cpu_time() - before;
  }

  // When all that the probe has cost so far, at edges too, is within its share of a core again.
  Nanoseconds affordable(const Row& row) const {
    return began_ + static_cast<Nanoseconds>(static_cast<double>(row.spent) / pace_.share_of_a_core);
  }

  Nanoseconds read_due(bool edge) {
    const std::lock_guard lock(mutex_);
    Nanoseconds next = never;
    for (Row& row : probes_) {
      const Nanoseconds now = clock_.now();  // within the lock: times in a series never go back
      if (edge || now >= row.next) {
        charge(row, [&] { row.probe->read(now); });
        row.next = std::max(now + pace_.period, affordable(row));
      }
      next = std::min(next, row.next);
    }
    return next - clock_.now();
  }

  void read_slow() {
    const std::lock_guard lock(mutex_);
    for (Row& row : probes_) {
      const Nanoseconds now = clock_.now();
      if (now < row.next_slow) continue;
      charge(row, [&] { row.probe->read_slow(now); });
      row.next_slow = std::max(now + std::max(pace_.slow_period, pace_.period), affordable(row));
    }
  }

  void run(const std::stop_token& stop) {
    const ReadingThread marked;
    // Linux keeps niceness per thread. Best effort: a refusal only means that we may be noticed a little more.
    if (pace_.is_lowest_priority) ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 19);
    std::mutex sleep;
    std::condition_variable_any wake;
    std::unique_lock lock(sleep);
    while (!stop.stop_requested()) {
      keep_off_measured_cpus();
      const Nanoseconds left = read_due(false);
      read_slow();
      wake.wait_for(lock, stop, std::chrono::nanoseconds(left), [] { return false; });
    }
  }

  // The worker pins its first thread when it knows the engine; from then on the rest of what the process was given is ours.
  void keep_off_measured_cpus() {
    const std::vector<int> measured = measured_cpus();
    if (measured == seen_measured_) return;
    seen_measured_ = measured;
    std::vector<int> others;
    std::set_difference(initial_cpus().begin(), initial_cpus().end(), measured.begin(), measured.end(), std::back_inserter(others));
    try {
      pin_thread(others.empty() ? initial_cpus() : others);
    } catch (const Error&) {  // the administrator took CPUs away meanwhile: stay where we are
    }
  }

  Clock& clock_;
  const Pace pace_;
  const Nanoseconds began_ = clock_.now();
  mutable std::mutex mutex_;
  std::vector<Row> probes_;
  std::vector<int> seen_measured_;
  std::jthread thread_;  // last: it ends before what it reads goes
};

Series cut(const Series& whole, Nanoseconds begin, Nanoseconds end) {
  const auto first = std::lower_bound(whole.times.begin(), whole.times.end(), begin) - whole.times.begin();
  const auto last = std::max<std::ptrdiff_t>(first, std::upper_bound(whole.times.begin(), whole.times.end(), end) - whole.times.begin());
  return {whole.probe,
          whole.name,
          whole.unit,
          whole.counter,
          {whole.times.begin() + first, whole.times.begin() + last},
          {whole.values.begin() + first, whole.values.begin() + last}};
}

// One slow reading must not hold up those of slices, so each pace has its thread and its lock.
class ProbeThreads final : public Telemetry {
 public:
  ProbeThreads(Clock& clock, const TelemetrySettings& settings)
      : samples_(clock, {settings.period, settings.slow_period, 0.008, true}),
        slices_(clock, {settings.period / TelemetrySettings::slices, settings.slow_period, 0.0008, false}) {
    const auto& registry = Registry<Probe>::instance();
    for (const std::string& name : registry.names()) {
      auto probe = registry.make("probe", name);
      const auto reason = probe->open(settings);
      availability_[fmt::format("probe.{}", name)] = reason ? "not available: " + *reason : "available";
      if (!reason) (probe->sees_slices() ? slices_ : samples_).add(std::move(probe));
    }
    samples_.start();
    slices_.start();
  }

  void edge() override {
    samples_.edge();
    slices_.edge();
  }

  Facts availability() const override {
    Facts facts = availability_;
    for_each([&](const Probe& probe, double core_share) {
      const std::string name = fmt::format("probe.{}", probe.name());
      for (const auto& [series, reason] : probe.missing()) facts[fmt::format("{}.{}", name, series)] = "not available: " + reason;
      if (core_share > 0) facts[name + ".core_share"] = core_share;
    });
    return facts;
  }

  Facts environment() const override {
    Facts facts;
    for_each([&](const Probe& probe, double /*core_share*/) { facts.merge(probe.environment()); });
    return facts;
  }

  bool reads(const std::string& name) const override {
    bool found = false;
    for_each([&](const Probe& probe, double /*core_share*/) {
      for (const Series& series : probe.series()) found = found || series.name == name || series.name.starts_with(name + ".");
    });
    return found;
  }

  std::vector<Series> series(Nanoseconds begin, Nanoseconds end) const override {
    std::vector<Series> found;
    for_each([&](const Probe& probe, double /*core_share*/) {
      for (const Series& whole : probe.series()) {
        if (Series part = cut(whole, begin, end); !part.times.empty()) found.push_back(std::move(part));
      }
    });
    return found;
  }

 private:
  template <typename Visit>
  void for_each(Visit visit) const {
    samples_.for_each(visit);
    slices_.for_each(visit);
  }

  Facts availability_;
  ProbeThread samples_, slices_;
};

}  // namespace

std::unique_ptr<Telemetry> start_telemetry(Clock& clock, const TelemetrySettings& settings) {
  return std::make_unique<ProbeThreads>(clock, settings);
}

}  // namespace deepgap
