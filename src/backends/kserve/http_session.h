// A Session on a server, over HTTP: a request of KServe v2 for each query, and a connection for each slot.
#pragma once

#include "backends/kserve/served_model.h"

#include <deepgap/backend.h>

#include <memory>

namespace deepgap {

// Connects with the first queries.
std::unique_ptr<Session> make_http_session(const ServerAddress& address, const ServedModel& served, const KserveSettings& settings,
                                           const Model& model, const LoadOptions& options);

}  // namespace deepgap
