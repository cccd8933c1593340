#include "backends/kserve/grpc/status_words.h"

#include "base/text.h"

#include <fmt/format.h>
#include <grpcpp/support/status_code_enum.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace deepgap {
namespace {

std::string code_name(int code) {
  static constexpr std::array<std::string_view, 17> names{
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  const auto at = static_cast<size_t>(code);
  return at < names.size() ? std::string(names[at]) : fmt::format("status {}", code);
}

// Returns whether the same request would be answered so again.
bool rejects(int code) {
  using enum grpc::StatusCode;
  constexpr std::array<int, 7> codes{INVALID_ARGUMENT, NOT_FOUND,       PERMISSION_DENIED, FAILED_PRECONDITION,
                                     OUT_OF_RANGE,     UNAUTHENTICATED, UNIMPLEMENTED};
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Returns the text behind the last colon but that of a port or a code: without addresses and what else differs from call to call.
std::string cause_in(const std::string& message) {
  const size_t at = message.rfind(": ");
  return short_words(at == std::string::npos ? message : message.substr(at + 2), "");
}

// Translates the library's words for a connection that it did not get, which begin with the addresses that it tried.
std::optional<RequestError> connecting_fault(const std::string& message) {
  using enum RequestError::Kind;
  if (has(message, "DNS resolution failed")) return RequestError{refused, "the host's name is not known"};
  if (!has(message, "failed to connect to all addresses")) return std::nullopt;
  if (has(message, "Connection refused")) return RequestError{refused, "connection refused"};
  if (has(message, "handshake") || has(message, "certificate")) return RequestError{tls, fmt::format("TLS failed: {}", cause_in(message))};
  if (has(message, "http1.x") || has(message, "parsing HTTP/2") || has(message, "last error: OK"))
    return RequestError{protocol, "not an answer by gRPC: the server does not speak HTTP/2; gRPC has a port of its own"};
  return RequestError{refused, fmt::format("no connection: {}", cause_in(message))};
}

// ... that it had, and lost.
bool tells_a_loss(const std::string& message) {
  constexpr std::array<std::string_view, 8> words{"Socket closed",    "Connection reset",     "Broken pipe",      "GOAWAY received",
                                                  "Endpoint closing", "Cancelling all calls", "Transport closed", "Stream removed"};
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return has(message, word); });
}

}  // namespace

RequestError late_error(Nanoseconds timeout) {
  return {RequestError::Kind::timed_out, fmt::format("no answer within {}", format_duration(timeout))};
}

RequestError fault_of_status(int code, const std::string& message, Nanoseconds timeout, size_t answer_limit) {
  if (code == grpc::StatusCode::DEADLINE_EXCEEDED && message == "Deadline Exceeded") return late_error(timeout);
  if (code == grpc::StatusCode::RESOURCE_EXHAUSTED && has(message, "larger than max") && has(message, fmt::format("vs. {})", answer_limit)))
    return {RequestError::Kind::answer, fmt::format("an answer of more than {}", format_bytes(static_cast<double>(answer_limit)))};
  if (code == grpc::StatusCode::UNAVAILABLE) {
    if (auto request_error = connecting_fault(message)) return *request_error;
    if (tells_a_loss(message)) return {RequestError::Kind::reset, "the connection was reset or closed before an answer"};
  }
  if (has(message, "Received http2 header with status"))
    return {RequestError::Kind::protocol, "not an answer by gRPC: " + short_words(message, "")};
  const std::string words = short_words(message, "");
  return {RequestError::Kind::status, fmt::format("answered {}{}{}", code_name(code), words.empty() ? "" : ": ", words), rejects(code)};
}

}  // namespace deepgap
