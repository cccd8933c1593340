// The worker process: `deepgap __worker`, started by `deepgap run`. Serves inspections, references and orders on its channel until the
// parent closes it. Requests: {"kind":"inspect"}, {"kind":"reference","order"}, {"kind":"run","order"}. Answers: "heartbeat" at any time;
// what worker/turns.h says where several workers measure together; to `run` "record" with blocks of timings and series, or
// "needs_reference"; to `reference` "reference", with "unavailable" when there can be none. SIGTERM asks it to stop at the next query: the
// order under way is answered as `interrupted`.
#pragma once

#include "worker/group.h"

#include <deepgap/record.h>

#include <functional>
#include <string>

namespace deepgap {

inline constexpr const char* worker_command = "__worker";

// `complete` adds to a Record what is computed while its timings are at hand; it lives above this room.
int worker_main(int channel, const ProgramState& program, const std::function<void(Record&)>& complete);

}  // namespace deepgap
