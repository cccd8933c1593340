#include "backends/http/http.h"

#include "base/dump_json.h"
#include "base/parse_json.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

namespace deepgap {
namespace {

constexpr const char* length_of_json = "Inference-Header-Content-Length";

void start_curl() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

template <typename Value>
void set(CURL* easy, CURLoption option, Value value) {
  if (const CURLcode code = curl_easy_setopt(easy, option, value); code != CURLE_OK)
    throw Error(ErrorKind::internal, fmt::format("libcurl takes no option {}: {}", static_cast<int>(option), curl_easy_strerror(code)));
}

std::string_view reason_phrase(long status) {
  switch (status) {
    case 400:
      return " Bad Request";
    case 401:
      return " Unauthorized";
    case 403:
      return " Forbidden";
    case 404:
      return " Not Found";
    case 408:
      return " Request Timeout";
    case 413:
      return " Content Too Large";
    case 429:
      return " Too Many Requests";
    case 500:
      return " Internal Server Error";
    case 502:
      return " Bad Gateway";
    case 503:
      return " Service Unavailable";
    case 504:
      return " Gateway Timeout";
  }
  return "";
}

}  // namespace

void AnswerBody::clear() {
  header_.reset();
  size_ = begin_ = 0;
}

void AnswerBody::expect_header(size_t bytes) {
  header_ = bytes;
  begin_ = (alignment - bytes % alignment) % alignment;
}

bool AnswerBody::append(const std::byte* data, size_t bytes) {
  if (bytes > limit_ - std::min(limit_, size_)) return false;
  const size_t wanted = begin_ + size_ + bytes;
  if (wanted > capacity_) {
    const size_t larger = std::max<size_t>({wanted, 2 * capacity_, 4096});
    std::unique_ptr<std::byte[], FreeAligned> room(static_cast<std::byte*>(::operator new[](larger, std::align_val_t{alignment})));
    if (size_ > 0) std::memcpy(room.get() + begin_, room_.get() + begin_, size_);
    room_ = std::move(room);
    capacity_ = larger;
  }
  std::memcpy(room_.get() + begin_ + size_, data, bytes);
  size_ += bytes;
  return true;
}

std::string_view AnswerBody::json() const {
  const std::string_view all(reinterpret_cast<const char*>(room_.get()) + begin_, size_);
  return size_ == 0 ? std::string_view() : all.substr(0, header_.value_or(size_));
}

std::string_view AnswerBody::tensors() const {
  if (!header_ || size_ <= *header_) return {};
  return {reinterpret_cast<const char*>(room_.get()) + begin_ + *header_, size_ - *header_};
}

HttpRequest::HttpRequest(const ServerAddress& address, size_t limit, const Clock* clock) : address_(address), clock_(clock), body_(limit) {
  start_curl();
  easy_.reset(curl_easy_init());
  if (easy_ == nullptr) throw Error(ErrorKind::out_of_memory, "libcurl has no memory for a request");
  CURL* easy = easy_.get();
  set(easy, CURLOPT_ERRORBUFFER, message_);
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy, CURLOPT_PROXY, "");  // also none of the environment's
  set(easy, CURLOPT_FOLLOWLOCATION, 0L);
  set(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  set(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  set(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!address.ca_file.empty()) set(easy, CURLOPT_CAINFO, address.ca_file.c_str());
  set(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  set(easy, CURLOPT_DNS_CACHE_TIMEOUT, -1L);
  set(easy, CURLOPT_MAXAGE_CONN, 1L << 30);  // seconds idle: the server closes those it does not want (0 is what was idle for one)
  set(easy, CURLOPT_HEADERFUNCTION, &HttpRequest::on_header);
  set(easy, CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(easy, CURLOPT_WRITEFUNCTION, &HttpRequest::on_body);
  set(easy, CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(easy, CURLOPT_PREREQFUNCTION, &HttpRequest::before_request);
  set(easy, CURLOPT_PREREQDATA, static_cast<void*>(this));
}

void HttpRequest::prepare(const std::string& path, Nanoseconds timeout) {
  body_.clear();
  content_type_.clear();
  retry_after_.clear();
  streams_ = stream_ended_ = too_large_ = false;
  begun_ = 0;
  sent_at_ = 0;
  message_[0] = '\0';
  if (path != path_) {
    path_ = path;
    set(easy_.get(), CURLOPT_URL, (address_.base + path).c_str());
  }
  if (timeout == timeout_) return;
  timeout_ = timeout;
  set(easy_.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(std::max<Nanoseconds>(timeout / 1'000'000, 1)));
}

void HttpRequest::get(const std::string& path, Nanoseconds timeout) {
  prepare(path, timeout);
  body_sent_ = 0;
  headers_made_ = false;
  headers_.reset(address_.token.empty() ? nullptr : curl_slist_append(nullptr, ("Authorization: Bearer " + address_.token).c_str()));
  set(easy_.get(), CURLOPT_HTTPGET, 1L);
  set(easy_.get(), CURLOPT_HTTPHEADER, headers_.get());
}

void HttpRequest::post(const std::string& path, std::string_view body, std::optional<size_t> json_bytes, Nanoseconds timeout) {
  prepare(path, timeout);
  body_sent_ = body.size();
  set(easy_.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  set(easy_.get(), CURLOPT_POSTFIELDS, body.data());
  if (headers_made_ && headers_json_ == json_bytes) return;
  curl_slist* list = curl_slist_append(nullptr, json_bytes ? "Content-Type: application/octet-stream" : "Content-Type: application/json");
  list = curl_slist_append(list, "Expect:");  // whose answer would be waited for
  if (json_bytes) list = curl_slist_append(list, fmt::format("{}: {}", length_of_json, *json_bytes).c_str());
  if (!address_.token.empty()) list = curl_slist_append(list, ("Authorization: Bearer " + address_.token).c_str());
  set(easy_.get(), CURLOPT_HTTPHEADER, list);
  headers_.reset(list);
  headers_json_ = json_bytes;
  headers_made_ = true;
}

void HttpRequest::stream(const std::string& content_type, Piece piece) {
  stream_type_ = content_type;
  piece_ = std::move(piece);
}

void HttpRequest::end_when(std::function<bool()> ended) {
  ended_ = std::move(ended);
  set(easy_.get(), CURLOPT_XFERINFOFUNCTION, &HttpRequest::on_progress);
  set(easy_.get(), CURLOPT_XFERINFODATA, static_cast<void*>(this));
  set(easy_.get(), CURLOPT_NOPROGRESS, 0L);
}

void HttpRequest::forbid_reuse() { set(easy_.get(), CURLOPT_FORBID_REUSE, 1L); }

std::optional<RequestError> HttpRequest::perform() { return request_error(curl_easy_perform(easy_.get())); }

size_t HttpRequest::on_header(char* data, size_t size, size_t count, void* self) {
  auto& request = *static_cast<HttpRequest*>(self);
  const std::string_view line(data, size * count);
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return line.size();
  const auto is = [&](std::string_view name) {
    return colon == name.size() && std::equal(name.begin(), name.end(), line.begin(), [](char a, char b) { return (a | 32) == (b | 32); });
  };
  if (is("Content-Type")) request.content_type_ = trim(line.substr(colon + 1));
  if (is("Server")) request.server_ = trim(line.substr(colon + 1));
  if (is("Retry-After")) request.retry_after_ = trim(line.substr(colon + 1));
  if (is(length_of_json)) {
    const auto bytes = parse_int(trim(line.substr(colon + 1)));
    if (bytes && *bytes >= 0 && static_cast<size_t>(*bytes) <= request.body_.limit())
      request.body_.expect_header(static_cast<size_t>(*bytes));
  }
  return line.size();
}

size_t HttpRequest::on_body(char* data, size_t size, size_t count, void* self) {
  auto& request = *static_cast<HttpRequest*>(self);
  const size_t bytes = size * count;
  if (request.piece_ && !request.streams_)
    request.streams_ = request.content_type_.starts_with(request.stream_type_) && request.status() == 200;
  if (request.streams_) {
    if (request.piece_({data, bytes})) return bytes;
    request.stream_ended_ = true;
    return bytes + 1;
  }
  if (request.body_.append(reinterpret_cast<const std::byte*>(data), bytes)) return bytes;
  request.too_large_ = true;
  return bytes + 1;  // which ends it
}

// Comes once for each time that libcurl sends it: the second would be a retry that nobody hears of.
int HttpRequest::before_request(void* self, char*, char*, int, int) {
  auto& request = *static_cast<HttpRequest*>(self);
  if (request.clock_ != nullptr && request.begun_ == 0) request.sent_at_ = request.clock_->now();
  return ++request.begun_ == 1 ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

// libcurl calls it at least once a second.
int HttpRequest::on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<HttpRequest*>(self)->ended_() ? 1 : 0;
}

long HttpRequest::status() const {
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  return status;
}

HttpRequest::Traffic HttpRequest::traffic() const {
  Traffic traffic;
  curl_off_t downloaded = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_NUM_CONNECTS, &traffic.connections);
  curl_easy_getinfo(easy_.get(), CURLINFO_REQUEST_SIZE, &traffic.sent_headers);
  curl_easy_getinfo(easy_.get(), CURLINFO_HEADER_SIZE, &traffic.received_headers);
  curl_easy_getinfo(easy_.get(), CURLINFO_SIZE_DOWNLOAD_T, &downloaded);
  traffic.sent = static_cast<curl_off_t>(traffic.sent_headers) + static_cast<curl_off_t>(body_sent_);
  traffic.received = downloaded + traffic.received_headers;
  return traffic;
}

std::string status_text(long status, std::string_view body, std::string_view token) {
  std::string words;
  const auto json = parse_json(body);
  if (json.is_object() && json.contains("error")) {
    words = json["error"].is_string() ? json["error"].get<std::string>() : dump_line(json["error"]);
  } else if (!body.starts_with('<')) {
    words = body;
  }
  words = short_words(words, token);
  return fmt::format("answered {}{}{}{}", status, reason_phrase(status), words.empty() ? "" : ": ", words);
}

std::optional<RequestError> HttpRequest::request_error(CURLcode code) const {
  using enum RequestError::Kind;
  const std::string said = short_words(message_[0] == '\0' ? curl_easy_strerror(code) : message_, address_.token);
  switch (code) {
    case CURLE_OK:
      break;
    case CURLE_COULDNT_CONNECT: {
      long number = 0;
      curl_easy_getinfo(easy_.get(), CURLINFO_OS_ERRNO, &number);
      if (number == ECONNREFUSED) return RequestError{refused, "connection refused"};
      return RequestError{refused, fmt::format("no connection: {}", number == 0 ? said : std::strerror(static_cast<int>(number)))};
    }
    case CURLE_COULDNT_RESOLVE_HOST:
      return RequestError{refused, "the host's name is not known"};
    case CURLE_OPERATION_TIMEDOUT:
      return RequestError{timed_out, fmt::format("no answer within {}", format_duration(timeout_))};
    case CURLE_ABORTED_BY_CALLBACK:  // before it would have been sent again, over another connection
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
      return RequestError{reset, "the connection was reset or closed before an answer"};
    case CURLE_PARTIAL_FILE:
      return RequestError{reset, "the answer broke off"};
    case CURLE_WRITE_ERROR:
      if (stream_ended_) return std::nullopt;
      if (too_large_)
        return RequestError{answer, fmt::format("an answer of more than {}", format_bytes(static_cast<double>(body_.limit())))};
      break;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_USE_SSL_FAILED:
      return RequestError{tls, fmt::format("TLS failed: {}", said)};
    default:
      break;
  }
  if (code != CURLE_OK) return RequestError{protocol, fmt::format("not an answer by HTTP/1.1: {}", said)};
  const long number = this->status();
  if (number == 200) return std::nullopt;
  if (number >= 300 && number < 400)
    return RequestError{RequestError::Kind::status, fmt::format("answered {}, a redirect, which is not followed", number)};
  std::string words = status_text(number, body_.json(), address_.token);
  if (!retry_after_.empty()) words += fmt::format(" (Retry-After: {})", short_words(retry_after_, address_.token));
  const bool comes_and_goes = number == 408 || number == 425 || number == 429;  // late, too early, too many
  return RequestError{RequestError::Kind::status, std::move(words), number >= 400 && number < 500 && !comes_and_goes};
}

}  // namespace deepgap
