// KServe v2 over gRPC. grpc/ has it, where the plug-in is built with gRPC's C++ library; no_grpc/ stands for it elsewhere: there each
// function throws Error{refused}, which says how to get it.
#pragma once

#include "backends/kserve/served_model.h"

#include <deepgap/backend.h>

#include <memory>
#include <string>

namespace deepgap {

std::string grpc_version();  // "gRPC 1.51.1", "without gRPC (libgrpc++-dev was not there when it was built)"

// As ask_for_model_by_http() does. Throws {usage} also for an address that is none of gRPC: without a port, with a path.
ServedModel ask_for_model_by_grpc(const ServerAddress& address, const std::string& model, const KserveSettings& settings);

// A Session that sends a call for each query, or with KserveSettings::stream a message on a stream of the slot's own. Connects with the
// first queries.
std::unique_ptr<Session> make_grpc_session(const ServerAddress& address, const ServedModel& served, const KserveSettings& settings,
                                           const Model& model, const LoadOptions& options);

}  // namespace deepgap
