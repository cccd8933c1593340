// Makes what a Point is checked against, before measure() needs it.
#pragma once

#include "worker/group.h"

namespace deepgap {

// Makes what measure() asked for: the QDQ form where the Point needs one, then the reference outputs; both into the cache. Throws Error.
void provide_reference(const WorkOrder& order, Group& group, Heartbeat& heartbeat);

}  // namespace deepgap
