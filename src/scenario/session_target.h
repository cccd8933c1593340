// SessionTarget: a bare Session as a Target: a query is one enqueue, up to slots() in flight. Dataset indices become staged positions.
#pragma once

#include <deepgap/backend.h>
#include <deepgap/dataset.h>
#include <deepgap/target.h>

#include <functional>
#include <memory>

namespace deepgap {

// Owns the Session that `load` makes with the completion this Target needs. The Dataset must outlive it.
// std::unique_ptr<Session> load(Completion)
using SessionLoader = std::function<std::unique_ptr<Session>(Completion)>;
std::unique_ptr<Target> make_session_target(const SessionLoader& load, Dataset& dataset, int64_t batch, Clock& clock);

}  // namespace deepgap
