// Fault: how a request to a server failed. The words are the same for every request that failed so, since Records count them by their
// words.
#pragma once

#include <string>

namespace deepgap {

struct Fault {
  enum class Kind { refused, reset, timed_out, tls, not_http, http_status, answer } kind = Kind::answer;
  std::string what;  // "connection refused", "answered 503: overloaded"
};

}  // namespace deepgap
