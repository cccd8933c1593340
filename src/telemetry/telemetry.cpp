#include "telemetry/affinity.h"
#include "telemetry/environment.h"
#include "telemetry/probe.h"

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

class ProbeThread final : public Telemetry {
 public:
  ProbeThread(Clock& clock, const TelemetrySettings& settings) : clock_(clock), settings_(settings) {
    const auto& registry = Registry<Probe>::instance();
    for (const std::string& name : registry.names()) {
      auto probe = registry.make("probe", name);
      const auto reason = probe->open(settings_);
      availability_[fmt::format("probe.{}", name)] = reason ? "not available: " + *reason : "available";
      if (!reason) probes_.push_back({std::move(probe), 0, began_ + settings_.slow_period});
    }
    if (probes_.empty()) return;
    read_due(true);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }

  void edge() override { read_due(true); }

  Facts availability() const override {
    const std::lock_guard lock(mutex_);
    Facts facts = availability_;
    for (const Row& row : probes_) {
      const std::string name = fmt::format("probe.{}", row.probe->name());
      for (const auto& [series, reason] : row.probe->missing()) facts[fmt::format("{}.{}", name, series)] = "not available: " + reason;
      const Nanoseconds life = clock_.now() - began_;
      if (life > 0) facts[name + ".core_share"] = static_cast<double>(row.spent) / static_cast<double>(life);
    }
    return facts;
  }

  Facts environment() const override {
    const std::lock_guard lock(mutex_);
    Facts facts;
    for (const Row& row : probes_) facts.merge(row.probe->environment());
    return facts;
  }

  bool reads(const std::string& name) const override {
    const std::lock_guard lock(mutex_);
    const auto is_it = [&](const Series& series) { return series.name == name || series.name.starts_with(name + "."); };
    return std::any_of(probes_.begin(), probes_.end(), [&](const Row& row) {
      const auto& all = row.probe->series();
      return std::any_of(all.begin(), all.end(), is_it);
    });
  }

  std::vector<Series> series(Nanoseconds begin, Nanoseconds end) const override {
    const std::lock_guard lock(mutex_);
    std::vector<Series> cut;
    for (const Row& row : probes_) {
      for (const Series& whole : row.probe->series()) {
        const auto first = std::lower_bound(whole.times.begin(), whole.times.end(), begin) - whole.times.begin();
        const auto last = std::upper_bound(whole.times.begin(), whole.times.end(), end) - whole.times.begin();
        if (first >= last) continue;
        cut.push_back({whole.probe,
                       whole.name,
                       whole.unit,
                       whole.counter,
                       {whole.times.begin() + first, whole.times.begin() + last},
                       {whole.values.begin() + first, whole.values.begin() + last}});
      }
    }
    return cut;
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
    return began_ + static_cast<Nanoseconds>(static_cast<double>(row.spent) / share_of_a_core);
  }

  Nanoseconds read_due(bool edge) {
    const std::lock_guard lock(mutex_);
    Nanoseconds next = never;
    for (Row& row : probes_) {
      const Nanoseconds now = clock_.now();  // within the lock: times in a series never go back
      if (edge || now >= row.next) {
        charge(row, [&] { row.probe->read(now); });
        row.next = std::max(now + settings_.period, affordable(row));
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
      row.next_slow = std::max(now + std::max(settings_.slow_period, settings_.period), affordable(row));
    }
  }

  void run(const std::stop_token& stop) {
    // Linux keeps niceness per thread. Best effort: a refusal only means that we may be noticed a little more.
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 19);
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

  static constexpr double share_of_a_core = 0.008;  // for each probe: what is promised is 1 %, and edges are read in any case

  Clock& clock_;
  const TelemetrySettings settings_;
  const Nanoseconds began_ = clock_.now();
  mutable std::mutex mutex_;
  std::vector<Row> probes_;
  Facts availability_;
  std::vector<int> seen_measured_;
  std::jthread thread_;  // last: it ends before what it reads goes
};

}  // namespace

std::unique_ptr<Telemetry> start_telemetry(Clock& clock, const TelemetrySettings& settings) {
  return std::make_unique<ProbeThread>(clock, settings);
}

}  // namespace deepgap
