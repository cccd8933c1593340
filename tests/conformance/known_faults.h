// Lists what foreign engines are known to get wrong. A difference is forgiven only where one is named here, for the operator that was tried
// and by no more than was seen, and then printed. Everything else is judged by blame.h.
#pragma once

#include "tolerance.h"

#include <deepgap/graph.h>

#include <limits>
#include <string>

namespace deepgap::conformance {

// The limit of a known fault; beyond it the answer is wrong in another way.
struct ErrorBound {
  double least_db = std::numeric_limits<double>::quiet_NaN();  // floats: at least this near; NaN: they are right
  bool integers = false;                                       // integers may differ
  bool form = false;                                           // shapes may differ
  bool failure = false;                                        // a query may fail

  bool holds(const Difference& wrong) const;
};

struct KnownFault {
  std::string reason;
  ErrorBound bound;
};

// Returns why `backend` ends the process with this network, which is not tried then, or "".
std::string known_crash(const std::string& backend, const Graph& graph);
// Returns why `backend` may refuse this network without a node's name, or "".
std::string known_nameless_refusal(const std::string& backend, const Graph& graph);
// Returns why `backend` may answer this network, which tries the operator `tried`, so wrongly in `precision`, or "".
std::string known_fault(const std::string& backend, const std::string& precision, const Graph& graph, const std::string& tried,
                        const Difference& wrong);

}  // namespace deepgap::conformance
