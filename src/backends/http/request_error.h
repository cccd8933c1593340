// RequestError: how a request to a server failed. The words are the same for every request that failed so, since Records count them by
// their words.
#pragma once

#include <string>
#include <string_view>

namespace deepgap {

struct RequestError {
  // status: the server's own answer that it failed; protocol: what came is not of the protocol that was asked in.
  enum class Kind { refused, reset, timed_out, tls, protocol, status, answer, cancelled } kind = Kind::answer;
  std::string what;       // "connection refused", "answered 503: overloaded"
  bool rejected = false;  // the server itself says that the request is wrong, and would say so again
};

// A server's words about what went wrong, for one line: printable, without the token that the server was sent, at most 160 bytes.
std::string short_words(std::string_view text, std::string_view token);

}  // namespace deepgap
