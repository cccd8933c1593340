// KeptSessions: the loaded and checked Sessions of an order, which the next order of its process takes over where it would load the same:
// another rate, another scenario, another run of a search. The Group keeps them, and drops them before what they were loaded from.
#pragma once

#include "worker/check_sessions.h"
#include "worker/instances.h"
#include "worker/order_context.h"

#include <deepgap/backend.h>

#include <string>

namespace deepgap {

struct KeptSessions {
  std::string key;
  Instances instances;
  double compile_s = 0;
  std::string affinity;
  SessionsCheck checked;
};

// Returns the same text for orders of one process that load the same Sessions, check them alike and leave nothing in them; empty: the
// order's Sessions are for it alone. Engines that compute nothing follow a script from its beginning, and what a server or a training
// remembers is not known here.
std::string sessions_key(const OrderContext& context, const LoadOptions& load);

}  // namespace deepgap
