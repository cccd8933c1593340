#include "worker/instances.h"

#include "record/load_axis.h"
#include "record/memory_use.h"
#include "scenario/session_target.h"
#include "telemetry/affinity.h"
#include "telemetry/environment.h"
#include "worker/load_session.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace deepgap {
namespace {

// Sessions on one CPU each get CPUs of their own: engines take those that the loading thread has, and would all pin to the same ones.
class LoadingCpus {
 public:
  LoadingCpus(const InstanceLoad& instance, int64_t count) : before_(measured_cpus()) {
    if (instance.device.kind == "cpu" && count > 1) pin_thread(cpu_share(before_, instance.share, count));
  }
  ~LoadingCpus() { pin_thread(before_); }
  LoadingCpus(const LoadingCpus&) = delete;
  LoadingCpus& operator=(const LoadingCpus&) = delete;

 private:
  std::vector<int> before_;
};

}  // namespace

// Batches are neighbours in the samples' order; other queries are drawn or arrive one by one, so their batches are put together. Neighbours
// are read where they lie: on a CPU, and in a GPU's memory.
SampleLayout sample_layout(const Point& point, const DeviceId& device, const EngineRequest& load) {
  const bool stays = device.kind == "cpu" || load.inputs == InputPlace::device || load.inputs == InputPlace::ready;
  const bool batches = scenario_traits(point.scenario).unit == "batch" && stays && !load.samples_change;
  return batches ? SampleLayout::adjacent : SampleLayout::as_they_are;
}

Instances::Instances(const SessionsToLoad& wanted) : dispatches_(needs_dispatcher(wanted.point)) {
  for (const InstanceLoad& one : instance_loads(wanted.point, wanted.options)) {
    LoadOptions load = wanted.common;
    load.placement = {1, {one.device}};
    load.threads = one.threads;
    Instance instance{.name = one.name, .device = one.device, .target = nullptr};
    const auto loader = [&](Completion completion) {
      load.completion = std::move(completion);
      auto session = load_session(wanted.backend, wanted.model, load);
      instance.session = session.get();
      return session;
    };
    const LoadingCpus pinned(one, wanted.options.instances);
    try {
      instance.target = make_session_target(loader, wanted.dataset, largest_batch(wanted.point, wanted.options),
                                            sample_layout(wanted.point, one.device, wanted.common));
    } catch (const Error& error) {
      if (!dispatches_) throw;
      throw Error(error.kind(), fmt::format("{}: {}", one.name, error.what()));
    }
    instances_.push_back(std::move(instance));
    wanted.beat();
  }
}

void Instances::load(std::span<const uint32_t> samples) {
  for (Instance& instance : instances_) instance.target->load(samples);
}

Target& Instances::join(const DispatcherSettings& settings, Clock& clock) {
  if (!dispatches_) return *instances_.front().target;
  std::vector<DispatcherInstance> given;
  for (Instance& instance : instances_) given.push_back({instance.name, instance.target});
  dispatcher_ = make_dispatcher(std::move(given), settings, clock);
  return *dispatcher_;
}

void Instances::part() {
  dispatcher_.reset();
  for (Instance& instance : instances_) {
    instance.target->on_completion({});
    instance.target->outlive_failures(false);
  }
}

void Instances::reset_peak() {
  for (Instance& instance : instances_) instance.session->reset_peak();
}

MemoryUse Instances::memory() const {
  std::map<DeviceId, MemoryUse> devices;
  for (const Instance& instance : instances_) {
    const MemoryUse use = instance.session->memory();
    const auto [found, first] = devices.emplace(instance.device, use);
    if (first) continue;
    MemoryUse& all = found->second;
    all = instance.device.kind == "cpu" ? sum_of(all, use)
                                        : MemoryUse{std::max(all.reserved_bytes, use.reserved_bytes),
                                                    std::max(all.in_use_bytes, use.in_use_bytes), std::max(all.peak_bytes, use.peak_bytes)};
  }
  MemoryUse total{0, 0, 0};
  for (const auto& [device, use] : devices) total = sum_of(total, use);
  return total;
}

}  // namespace deepgap
