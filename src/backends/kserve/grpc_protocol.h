// KServe v2 over gRPC. grpc/ has it, as a module of its own (lib/deepgap/kserve/grpc.so): each process that loads gRPC's 46 libraries takes
// milliseconds of a CPU for it, which what is measured over HTTP is not to pay. The module is there where deepgap was built with gRPC's C++
// library.
#pragma once

#include "backends/kserve/served_model.h"

#include <deepgap/backend.h>

#include <memory>
#include <string>

namespace deepgap {

struct GrpcProtocol {
  int abi;  // backend_abi, as the module was built
  // Asks as ask_for_model_by_http() does. Throws {usage} also for an address that gRPC cannot use: without a port, with a path.
  ServedModel (*ask_for_model)(const ServerAddress& address, const std::string& model, const KserveSettings& settings);
  // A Session that sends a call for each query, or with KserveSettings::stream a message on a stream of the slot's own. Connects with the
  // first queries.
  std::unique_ptr<Session> (*make_session)(const ServerAddress& address, const ServedModel& served, const KserveSettings& settings,
                                           const Model& model, const LoadOptions& options);
};

// Loads the module with the first call, and keeps it until the process ends. Throws Error{refused} where there is none, or where it does
// not load. Any thread.
const GrpcProtocol& grpc_protocol();

std::string grpc_version();  // "gRPC 1.51.1", which the module was built with; "without gRPC" where there is none

}  // namespace deepgap
