// A Session that computes nothing: each query is served for its scripted time by one of `concurrency` servers, first come first served,
// and completed by work scheduled on the run's Clock. Used by one thread, the scenario's, as Clock::schedule demands. Outputs are zeros.
#pragma once

#include "backends/null/script.h"

#include <deepgap/session.h>

#include <memory>

namespace deepgap {

// Does what the script wants of a load first: writes to stderr, takes its time and memory. Throws Error{refused | out_of_memory}.
std::unique_ptr<Session> make_null_session(const NullScript& script, const Model& model, const LoadOptions& options);

}  // namespace deepgap
