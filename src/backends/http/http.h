// libcurl, as plug-ins use it: HTTP/1.1 over kept connections, to the server that the user named and nowhere else. No redirect is
// followed, no proxy of the environment is used, certificates and names are verified, nothing is retried.
//
// libcurl was chosen over a client of our own (docs/results/lab-notes/kserve-client.md): its parser and its TLS are well kept, and it costs
// less of a request than the servers take. A request that it would send again by itself, because a kept connection turned out closed, ends
// as a RequestError.
#pragma once

#include "backends/http/request_error.h"
#include "backends/http/server_address.h"

#include <deepgap/clock.h>

#include <curl/curl.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>

namespace deepgap {

// The body of an answer. Bytes behind a JSON header begin 64-byte aligned, if the header's length is known.
class AnswerBody {
 public:
  explicit AnswerBody(size_t limit) : limit_(limit) {}
  void clear();
  void expect_header(size_t bytes);                  // length of the JSON that comes before tensors' bytes; before append()
  bool append(const std::byte* data, size_t bytes);  // false: more than the limit
  std::string_view json() const;                     // the whole body if no header is expected
  std::string_view tensors() const;                  // behind the header; empty without one
  bool has_tensors() const { return header_.has_value(); }
  size_t limit() const { return limit_; }

 private:
  size_t limit_;
  std::optional<size_t> header_;
  struct FreeAligned {
    void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t{alignment}); }
  };
  static constexpr size_t alignment = 64;
  std::unique_ptr<std::byte[], FreeAligned> room_;
  size_t capacity_ = 0, begin_ = 0, size_ = 0;
};

// One request at a time, again and again. Not movable: libcurl keeps its address.
class HttpRequest {
 public:
  // Address and clock outlive it. `limit`: bytes of an answer.
  HttpRequest(const ServerAddress& address, size_t limit, const Clock* clock = nullptr);
  HttpRequest(const HttpRequest&) = delete;
  HttpRequest& operator=(const HttpRequest&) = delete;

  // Next: GET, or POST of a body, which outlives the request; `json_bytes` where tensors' bytes follow so much JSON. `path` begins with
  // '/'.
  void get(const std::string& path, Nanoseconds timeout);
  void post(const std::string& path, std::string_view body, std::optional<size_t> json_bytes, Nanoseconds timeout);
  // Gives from then on the pieces of an answer of status 200 and this type of content to `piece`, as they come, and not to body(). If it
  // returns false, the request ends at once; request_error() then says what `piece` has to say.
  using Piece = std::function<bool(std::string_view)>;
  void stream(const std::string& content_type, Piece piece);
  // Makes perform() give up, within about a second, once `ended` says so.
  void end_when(std::function<bool()> ended);
  // Makes each request open and close a connection of its own from then on.
  void forbid_reuse();
  // Sends it and waits.
  std::optional<RequestError> perform();

  CURL* handle() const { return easy_.get(); }
  // Translates libcurl's result; nullopt: an answer of status 200, or one that the receiver of a stream ended.
  std::optional<RequestError> request_error(CURLcode code) const;
  const AnswerBody& body() const { return body_; }
  long status() const;
  std::string content_type() const { return content_type_; }
  std::string server() const { return server_; }  // as it calls itself; empty: it does not
  // Returns when its first byte was about to be sent, by the clock; 0: none was, or there is no clock.
  Nanoseconds sent_at() const { return sent_at_; }
  struct Traffic {
    long connections = 0;  // that had to be opened
    curl_off_t sent = 0, received = 0;
    long sent_headers = 0, received_headers = 0;  // bytes of headers among these
  };
  Traffic traffic() const;

 private:
  void prepare(const std::string& path, Nanoseconds timeout);
  static size_t on_header(char* data, size_t size, size_t count, void* self);
  static size_t on_body(char* data, size_t size, size_t count, void* self);
  static int before_request(void* self, char*, char*, int, int);
  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t);

  struct FreeEasy {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  };
  struct FreeList {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };
  const ServerAddress& address_;
  const Clock* clock_;
  std::unique_ptr<curl_slist, FreeList> headers_;
  std::optional<size_t> headers_json_;  // which headers_ were made for
  bool headers_made_ = false;
  std::optional<std::string> path_;
  AnswerBody body_;
  std::string content_type_, server_, retry_after_;
  std::string stream_type_;  // the content type whose bytes are passed to piece_
  Piece piece_;
  std::function<bool()> ended_;
  bool streams_ = false, stream_ended_ = false;
  bool too_large_ = false;
  int begun_ = 0;  // times that it was sent
  size_t body_sent_ = 0;
  Nanoseconds sent_at_ = 0;
  Nanoseconds timeout_ = 0;
  char message_[CURL_ERROR_SIZE] = "";
  std::unique_ptr<CURL, FreeEasy> easy_;  // last: it goes first
};

// "answered 503 Service Unavailable: the server's words".
std::string status_text(long status, std::string_view body, std::string_view token);

}  // namespace deepgap
