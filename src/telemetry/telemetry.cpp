#include "telemetry/affinity.h"
#include "telemetry/environment.h"
#include "telemetry/probe.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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
  ProbeThread(Clock& clock, const std::string& root) : clock_(clock) {
    const auto& registry = Registry<Probe>::instance();
    for (const std::string& name : registry.names()) {
      auto probe = registry.make("probe", name);
      const auto reason = probe->open(root);
      availability_[fmt::format("probe.{}", name)] = reason ? "not available: " + *reason : "available";
      if (!reason) probes_.push_back({std::move(probe), 0});
    }
    if (probes_.empty()) return;
    read_due(true);
    thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
  }

  void edge() override { read_due(true); }

  Facts availability() const override {
    const std::lock_guard lock(mutex_);
    Facts facts = availability_;
    for (const auto& [probe, next] : probes_) {
      for (const auto& [series, reason] : probe->missing()) {
        facts[fmt::format("probe.{}.{}", probe->name(), series)] = "not available: " + reason;
      }
    }
    return facts;
  }

  std::vector<Series> series(Nanoseconds begin, Nanoseconds end) const override {
    const std::lock_guard lock(mutex_);
    std::vector<Series> cut;
    for (const auto& [probe, next] : probes_) {
      for (const Series& whole : probe->series()) {
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
    Nanoseconds next = 0;
  };

  Nanoseconds read_due(bool all) {
    const std::lock_guard lock(mutex_);
    const Nanoseconds now = clock_.now();  // within the lock: times in a series never go back
    Nanoseconds next = never;
    for (Row& row : probes_) {
      if (all || now >= row.next) {
        row.probe->read(now);
        row.next = now + row.probe->period();
      }
      next = std::min(next, row.next);
    }
    return next - now;
  }

  void run(std::stop_token stop) {
    // Linux keeps niceness per thread. Best effort: a refusal only means that we may be noticed a little more.
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 19);
    std::mutex sleep;
    std::condition_variable_any wake;
    std::unique_lock lock(sleep);
    while (!stop.stop_requested()) {
      keep_off_measured_cpus();
      const Nanoseconds left = read_due(false);
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
  mutable std::mutex mutex_;
  std::vector<Row> probes_;
  Facts availability_;
  std::vector<int> seen_measured_;
  std::jthread thread_;  // last: it ends before what it reads goes
};

}  // namespace

std::unique_ptr<Telemetry> start_telemetry(Clock& clock, const std::string& root) { return std::make_unique<ProbeThread>(clock, root); }

}  // namespace deepgap
