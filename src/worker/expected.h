// The expected results of an order's units of work, by their task: outputs of the reference, or the losses and weights of a training.
// measure() need not distinguish more.
#pragma once

#include "worker/check_sessions.h"
#include "worker/preparation.h"
#include "worker/train_check.h"

#include <cstdint>
#include <optional>
#include <string>

namespace deepgap {

// The results to compare with, or the reason why there are none.
struct Expected {
  std::optional<Reference> reference = {};
  std::string none = {};                     // why there is to be none; empty: there is one, or it is to be made first
  bool unchecked = false;                    // none could be made, or nobody wants one
  std::optional<TrainResult> training = {};  // for a Point that trains
  bool missing() const { return !reference && !training && none.empty(); }
};
Expected expected_of(const WorkOrder& order, const Preparation& prepared, const Group::Inputs& inputs);

// Runs the first of them and compares. Throws as check_sessions() and check_training() do.
SessionsCheck hold_against(const Expected& expected, LoadedOrder& loaded, const OrderContext& context);

// The work for one item of a unit of work, as a Record keeps it.
struct ItemWork {
  int64_t macs = 0, flop = 0, bytes = 0;
};
ItemWork item_work(const Point& point, const Model& model, const PointOptions& options);

}  // namespace deepgap
