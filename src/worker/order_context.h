// OrderContext: what the phases of one order share, from its preparation on. All of it outlives the context.
#pragma once

#include "worker/group.h"
#include "worker/heartbeat.h"
#include "worker/preparation.h"
#include "worker/turns.h"

#include <atomic>

namespace deepgap {

struct OrderContext {
  const WorkOrder& order;
  const Preparation& prepared;
  const Group::Inputs& inputs;
  Group& group;
  Clock& clock;
  Heartbeat& heartbeat;
  Turns& turns;  // with the parent and other ranks
  const std::atomic<bool>& interrupted;
};

}  // namespace deepgap
