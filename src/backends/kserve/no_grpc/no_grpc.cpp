// Stands for grpc/ where gRPC's library was not there.
#include "backends/kserve/grpc_protocol.h"

#include <deepgap/error.h>

namespace deepgap {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorKind::refused,
              "kserve: this deepgap was built without gRPC; install libgrpc++-dev and build again, or use the server's http:// address");
}

}  // namespace

std::string grpc_version() { return "without gRPC (libgrpc++-dev was not there when it was built)"; }

ServedModel ask_for_model_by_grpc(const ServerAddress&, const std::string&, const KserveSettings&) { refuse(); }

std::unique_ptr<Session> make_grpc_session(const ServerAddress&, const ServedModel&, const KserveSettings&, const Model&,
                                           const LoadOptions&) {
  refuse();
}

}  // namespace deepgap
