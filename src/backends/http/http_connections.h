// HttpConnections: requests of a Session in flight, many at a time, over connections that are kept.
//
// It has no thread: begin() sends from the thread that calls it, and take() takes what has come, so that no other thread must wake before
// bytes leave or an answer counts. Whoever waits for answers waits for descriptor() (Clock::attend). All calls from one thread at a time.
#pragma once

#include "backends/http/http.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace deepgap {

class HttpConnections {
 public:
  // Inside take() and wait(), and inside begin() of what ends at once; may call begin().
  using Finished = std::function<void(size_t request, const std::optional<RequestError>& request_error)>;
  // `requests` outlive it.
  HttpConnections(std::vector<std::unique_ptr<HttpRequest>>& requests, Finished finished);
  ~HttpConnections();  // gives up what is in flight, without a word
  HttpConnections(const HttpConnections&) = delete;
  HttpConnections& operator=(const HttpConnections&) = delete;

  void begin(size_t request);                // which was made ready by post() and is not in flight
  int descriptor() const { return epoll_; }  // readable when take() has something to do
  void take();                               // what has come; does not block
  void wait();                               // until something has come, and takes it
  // Gives up all that is in flight and returns which. Requests that had finished before are still reported.
  std::vector<size_t> abandon();

 private:
  void take_within(int wait_ms);
  void tell_ended();
  void arm(Nanoseconds time);
  void act(int socket, int events);
  // A descriptor that is or may come into the epoll set.
  struct Watched {
    uint32_t events = 0;  // that it is in the set with; 0: it is not
    bool wanted = false;  // libcurl wants to hear of it
    bool kept = false;    // a connection: we hear when it is closed
  };
  Watched& watched(int socket);
  void watch(int socket, uint32_t events);  // 0: not any more
  static int on_socket(CURL*, curl_socket_t socket, int what, void* self, void*);
  static curl_socket_t on_open(void* self, curlsocktype, curl_sockaddr* address);
  static int on_close(void* self, curl_socket_t socket);
  static int on_timer(CURLM*, long timeout_ms, void* self);

  struct FreeMulti {
    void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
  };
  std::vector<std::unique_ptr<HttpRequest>>& requests_;
  Finished finished_;
  std::vector<bool> in_flight_;
  int running_ = 0;
  std::optional<Nanoseconds> timer_;  // when libcurl wants to be asked, of the monotonic clock
  Nanoseconds armed_ = never;         // when timerfd_ makes descriptor() readable; later than timer_ never
  int epoll_ = -1, timerfd_ = -1;
  std::vector<Watched> watched_;  // by descriptor
  std::unique_ptr<CURLM, FreeMulti> multi_;
};

}  // namespace deepgap
