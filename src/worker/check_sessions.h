// The first queries of an order: every loaded Session answers one alone, whose outputs are held against the reference before anything is
// timed.
#pragma once

#include "worker/loaded_order.h"
#include "worker/output_sketch.h"
#include "worker/reference.h"

#include <optional>
#include <string>

namespace deepgap {

struct SessionsCheck {
  std::optional<double> first_result_ms;  // the slowest one's
  std::optional<CheckResult> check;       // the worst one's
  bool unchecked = false;                 // the outputs do not differ from sample to sample
  Facts facts;
  OutputSketch answers;  // answers of the first Session, for a contender
  std::string wrong;     // why they are wrong results; empty: they are not
};

// `reference` nullptr: nothing to compare with. Ends at the first Session that is wrong, or when `interrupted`. Throws the engine's reason
// when a query failed.
SessionsCheck check_sessions(LoadedOrder& loaded, const OrderContext& context, const Reference* reference);

}  // namespace deepgap
