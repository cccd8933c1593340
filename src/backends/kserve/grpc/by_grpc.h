// For tests: a scripted model that is asked by gRPC (protocol_rig.h), by calls of one answer each or by messages on streams.
#pragma once

#include "backends/kserve/grpc/scripted_grpc_model.h"
#include "backends/kserve/protocol_rig.h"

#include <string>

namespace deepgap {

struct ByGrpc {
  using Script = ScriptedGrpcModel;
  using Server = ScriptedGrpcServer;
  using Request = ScriptedCall;
  using Reply = ScriptedAnswer;
  static constexpr const char *scheme = "grpc", *tls_scheme = "grpcs";
  static constexpr const char *infer = "ModelInfer", *ready = "ModelReady";
  static Options options() { return {}; }
  static const std::string& place(const Request& request) { return request.method; }
  static Reply silence() { return {.end = Reply::End::hang}; }
  static Reply not_ready() { return {.status = {grpc::StatusCode::UNAVAILABLE, "loading"}}; }
};

struct ByGrpcStream : ByGrpc {
  static constexpr const char* infer = "ModelStreamInfer";
  static Options options() { return {{"stream", "on"}}; }
};

}  // namespace deepgap
