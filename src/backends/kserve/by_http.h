// For tests: a scripted model that is asked by HTTP (protocol_rig.h).
#pragma once

#include "backends/kserve/protocol_rig.h"
#include "backends/kserve/scripted_model.h"

namespace deepgap {

struct ByHttp {
  using Script = ScriptedModel;
  using Server = ScriptedServer;
  using Request = ScriptedRequest;
  using Reply = ScriptedReply;
  static constexpr const char *scheme = "http", *tls_scheme = "https";
  static constexpr const char *infer = "/v2/models/double/infer", *ready = "/v2/models/double/ready";
  static Options options() { return {}; }
  static const std::string& place(const Request& request) { return request.path; }
  static Reply silence() { return {.end = Reply::End::hang, .silent = true}; }
  static Reply not_ready() { return {.status = 503, .body = R"({"error":"loading"})"}; }
};

}  // namespace deepgap
