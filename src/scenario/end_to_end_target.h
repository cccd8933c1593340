// EndToEndTarget: a Target around a Session's, or around a Dispatcher, that takes queries from the stored sample to the answer: a
// SamplePreparer reads, decodes and resizes each sample into an input buffer, the Session computes on these, and the query is completed
// when its outputs are back.
//
// A query in the stages holds a pipeline slot: input buffers of its own. With one pipeline slot the stages of a query follow each other,
// and the next query begins when the one before it is answered (serial). With more, queries are prepared while others are computed
// (overlapped); those that find no pipeline slot wait in order of submission.
//
// Threads: as every Target; it has none of its own. The preparer and the Session answer on theirs, and what is ready is handed to the
// Session by work on the Clock, one query at a time, so that it goes on only while the scenario's thread submits or waits on the Clock, and
// runs in virtual time. (A Session may compute inside submit(): the scenario then gets to issue the next query before the one after is
// computed.)
//
// A query with a sample that cannot be prepared fails; submit() and flush() then throw Error{input} with the reason.
#pragma once

#include "scenario/input_buffers.h"
#include "scenario/sample_preparer.h"
#include "scenario/stage_log.h"

#include <deepgap/target.h>

#include <memory>

namespace deepgap {

struct EndToEndSettings {
  int64_t pipeline_slots = 1;  // queries in the stages at a time
  int64_t batch = 1;           // most samples of a query
  int64_t in_flight = 1;       // queries that it takes at least; those without a pipeline slot wait
};

class EndToEndTarget : public Target {
 public:
  virtual StageLog take_log() = 0;  // for queries answered since the last call; scenario's thread
};

// `session` computes on the first pipeline_slots * batch of `buffers` at least, all of which this call loads into it; both outlive the
// result. Queries name samples that the preparer knows.
std::unique_ptr<EndToEndTarget> make_end_to_end_target(Target& session, InputBuffers& buffers, std::unique_ptr<SamplePreparer> preparer,
                                                       const EndToEndSettings& settings, Clock& clock);

}  // namespace deepgap
