// Collects what the Sessions of an order counted in a window besides its queries' times (Session::take_counts()): requests, connections,
// bytes, and what a server reports about itself.
#pragma once

#include "worker/instances.h"

#include <deepgap/record.h>

#include <map>
#include <string>
#include <vector>

namespace deepgap {

struct SessionCounts {
  Facts facts;                                // "session.connections.opened"; of several Sessions "session.0.connections.opened"
  std::map<std::string, Estimate> estimates;  // from one Session: server_queue_ms and the like, if the server reports them
};
// Returns the counts since the last call. REQUIRES: nothing is in flight.
SessionCounts take_session_counts(Instances& instances);

// Returns what each SeriesSource read since the last call. With several Sessions the probe has the Session's number: "server.1".
std::vector<Series> take_session_series(Instances& instances);

}  // namespace deepgap
