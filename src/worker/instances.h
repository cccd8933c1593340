// Instances: the Sessions of one order, on one or more devices, and the Target that a Scenario drives: the one bare Session, or a
// Dispatcher over all.
//
// Life: load, check each instance by itself through its own Target, join(), drive; after part() the same again. The Backend, the Model, the
// Dataset and the Clock outlive it. Used by the scenario's thread.
#pragma once

#include "scenario/session_target.h"
#include "worker/dispatch_options.h"

#include <deepgap/dataset.h>
#include <deepgap/model.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

// What the Sessions of an order are loaded from.
struct SessionsToLoad {
  Backend& backend;
  const Model& model;
  Dataset& dataset;
  const Point& point;
  const DispatchOptions& options;
  const LoadOptions& common;   // each Session gets these with its own device and threads
  std::function<void()> beat;  // called after each
};

SampleLayout sample_layout(const Point& point, const DeviceId& device, const EngineRequest& load);

class Instances {
 public:
  struct Instance {
    std::string name;
    DeviceId device;
    std::shared_ptr<Target> target;  // a bare Session; the Dispatcher drives it after join()
    Session* session = nullptr;      // the Target owns it
  };

  // Throws what Backend::load does, the instance's name in front where there are several.
  explicit Instances(const SessionsToLoad& wanted);

  std::vector<Instance>& all() { return instances_; }
  void load(std::span<const uint32_t> samples);  // to every Session; before join()
  Target& join(const DispatcherSettings& settings, Clock& clock);
  void part();                                            // undoes join() and what a Scenario set on the Targets; nothing is in flight
  Dispatcher* dispatcher() { return dispatcher_.get(); }  // nullptr: a bare Session is driven

  void reset_peak();
  // Returns the memory of all Sessions: on a CPU each has its own; on a GPU the engine's allocator is the process's, so that all Sessions
  // on one device report the same.
  MemoryUse memory() const;

 private:
  bool dispatches_;
  std::vector<Instance> instances_;
  std::unique_ptr<Dispatcher> dispatcher_;
};

}  // namespace deepgap
