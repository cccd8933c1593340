// The parts of the module behind GrpcProtocol (grpc_protocol.h).
#pragma once

#include "backends/kserve/grpc_protocol.h"

namespace deepgap {

ServedModel ask_for_model_by_grpc(const ServerAddress& address, const std::string& model, const KserveSettings& settings);
std::unique_ptr<Session> make_grpc_session(const ServerAddress& address, const ServedModel& served, const KserveSettings& settings,
                                           const Model& model, const LoadOptions& options);

}  // namespace deepgap
