// How a worker does a task: what its Points are refused for, what its samples are, what drives it, and what its results are compared with.
// The base answers queries (infer, generate). A task of other work is a class of its own that adds itself to the Registry by the task's
// name (src/training); a build may be without it. Without state; any thread.
#pragma once

#include "base/option_table.h"
#include "worker/check_sessions.h"
#include "worker/group.h"
#include "worker/preparation.h"
#include "worker/profile_layers.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

// What a task of other work than queries is compared with.
struct OwnReference {
  OwnReference() = default;
  OwnReference(const OwnReference&) = delete;
  OwnReference& operator=(const OwnReference&) = delete;
  virtual ~OwnReference() = default;
};

// The expected results of an order's first units of work, or the reason why there are none.
struct Expected {
  std::optional<Reference> reference = {};
  std::string none = {};                         // why there is to be none; empty: there is one, or it is to be made first
  bool unchecked = false;                        // none could be made, or nobody wants one
  std::shared_ptr<const OwnReference> own = {};  // instead of `reference`
  bool missing() const { return !reference && own == nullptr && none.empty(); }
};

class TaskWork {
 public:
  virtual ~TaskWork() = default;
  // Adds the options that only this task has.
  virtual void add_options(OptionTable<PointOptions>& /*table*/) const {}
  // Returns the first of these that is among `given`; nullptr: there is none.
  virtual const OptionInfo* own_option(const EngineOptions& /*given*/) const { return nullptr; }
  // Throws Error{usage} for a scenario or a placement that the task does not take.
  virtual void require(const Point& /*point*/) const {}
  // Sets the options whose defaults are the task's own.
  virtual void set_defaults(const Point& point, PointOptions& options) const;
  // Adds what an engine is asked for besides.
  virtual void complete(EngineRequest& /*request*/, const Point& /*point*/, const PointOptions& /*options*/) const {}
  // Throws Error{usage} if a Dataset of so many samples is too small.
  virtual void require_samples(const Point& /*point*/, int64_t /*there*/) const {}
  // Returns the samples with what a unit of work needs beside them; nullptr: it needs nothing. `dataset` outlives the result.
  virtual std::unique_ptr<Dataset> targeted(Dataset& /*dataset*/, const std::vector<TensorInfo>& /*outputs*/,
                                            const PointOptions& /*options*/) const {
    return nullptr;
  }
  // Throws Error{usage} for a way to end the window that the task cannot take.
  virtual std::unique_ptr<WorkloadDriver> driver(const WorkOrder& order, const Preparation& prepared) const;
  // Asked if the order wants a check and its device is here.
  virtual Expected expected(const OrderContext& context) const;
  // Makes what expected() looks for, in the cache.
  virtual void provide_reference(const WorkOrder& order, const PointOptions& options, const Group::Inputs& inputs, Clock& clock) const;
  // Runs the first units of work and compares. Throws the engine's reason when one failed.
  virtual SessionsCheck check(const Expected& expected, LoadedOrder& loaded, const OrderContext& context) const;
  // Notes the work for one item of a unit of work.
  virtual void note_work(Record& record, const Model& model, const PointOptions& options) const;
  // Returns why there is no profile of such a Point; empty: there can be.
  virtual std::string why_not_profiled(const Point& /*point*/) const { return {}; }
  virtual LayerProfile profile(const Point& point, const PointOptions& options, const ProfileRequest& request) const;
};

// Returns the tasks of other work than queries that this build has, by their names.
const std::map<std::string, std::unique_ptr<TaskWork>>& own_works();
// Throws Error{usage} for a task that this build is without.
const TaskWork& task_work(const Point& point);

// Returns whether the backend has Sessions for the task, and the Model is for it. Asked once for each Point, before anything else.
Support task_support(const Backend& backend, Task task, const GraphSummary& graph);
// Asks expected() where there may be something to compare with.
Expected expected_of(const OrderContext& context);

}  // namespace deepgap
