// gRPC's ends of calls as RequestErrors. The library gives what it finds out by itself the codes that servers use, and only its words say
// what happened to a connection; so a server that uses the same words is taken for it.
#pragma once

#include "backends/http/request_error.h"

#include <deepgap/clock.h>

#include <cstddef>
#include <string>

namespace deepgap {

// `code`: a grpc::StatusCode, not OK. `timeout` was the call's, `answer_limit` in bytes its answer's.
RequestError fault_of_status(int code, const std::string& message, Nanoseconds timeout, size_t answer_limit);
RequestError late_error(Nanoseconds timeout);  // no answer within it

}  // namespace deepgap
