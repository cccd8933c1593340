// The options end_to_end and decode_threads, as axes: whether a Point's queries begin with images in files, and how those are prepared.
// docs/how-to/end-to-end.md describes them.
#pragma once

#include "worker/dispatch_options.h"

#include <deepgap/backend.h>
#include <deepgap/dataset.h>
#include <deepgap/point.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace deepgap {

enum class EndToEnd {
  off,         // queries begin with inputs in memory: the network alone
  serial,      // one stage after the other, one query at a time
  overlapped,  // the next queries are prepared while one is computed
};

struct EndToEndOptions {
  EndToEnd mode = EndToEnd::off;
  int64_t decode_threads = 0;  // 0: the CPUs that the engine's threads leave, one at least
  bool on() const { return mode != EndToEnd::off; }
};

const OptionTable<EndToEndOptions>& end_to_end_options();

// Throws Error{usage} for a Dataset whose samples are not made from pictures.
void require_pictures(const Point& point, const EndToEndOptions& options, const Dataset& dataset);

int decode_threads(const Point& point, const EndToEndOptions& options, size_t cpus);
// Queries in the stages at a time: what the Sessions hold in `slots` each, a batch that is ready, and as many as keep the threads busy; 1
// for serial.
int64_t pipeline_slots(const Point& point, const EndToEndOptions& options, const DispatchOptions& dispatch, int threads, int64_t slots);

}  // namespace deepgap
