// SessionTarget: a bare Session as a Target: a query is one enqueue, up to slots() in flight. Dataset indices become staged positions.
//
// A query takes the lowest free slot, so with one in flight its outputs are in slot 0. load() adds to the loaded set and stages all of it
// again; nothing may be in flight then. When a query failed, submit() and flush() throw its Error, of kind internal unless it was
// the memory or the device: that is how a Scenario, which sees only Targets, learns why. on_completion() returns when no earlier completion
// is running any more, so what that one used may go.
#pragma once

#include <deepgap/backend.h>
#include <deepgap/dataset.h>
#include <deepgap/target.h>

#include <cstdint>
#include <functional>
#include <memory>

namespace deepgap {

// Owns the Session that `load` makes with the completion this Target needs. The Dataset must outlive it. `batch` is the most samples of a
// query.
// std::unique_ptr<Session> load(Completion)
using SessionLoader = std::function<std::unique_ptr<Session>(Completion)>;
// The place of the samples that a query reads: as the Dataset has them, or copied so that neighbours among the loaded ones are adjacent
// (adjacent_samples.h), which costs the memory of the loaded set and of one batch, and misses what is rewritten after load().
enum class SampleLayout : uint8_t { as_they_are, adjacent };
std::unique_ptr<Target> make_session_target(const SessionLoader& load, Dataset& dataset, int64_t batch, SampleLayout layout);

}  // namespace deepgap
