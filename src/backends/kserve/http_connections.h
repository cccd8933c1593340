// HttpConnections: requests of a Session in flight, many at a time, over connections that are kept.
//
// begin() sends from the thread that calls it, so that no other thread must wake before bytes leave; answers are taken by a thread of its
// own, which waits in epoll. libcurl's multi handle, which is no thread's own, is used under one mutex. begin() never waits for it: what it
// finds taken it leaves in a queue, which whoever has the mutex looks at again after letting it go. Were it to wait, two threads of one CPU
// would hand the mutex to and fro for each request, each time by way of the scheduler, and a burst would never be worked off.
#pragma once

#include "backends/kserve/http.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace deepgap {

class HttpConnections {
 public:
  // On the thread that takes answers, in order of completion; may call begin().
  using Finished = std::function<void(size_t request, const std::optional<Fault>& fault)>;
  // `requests` outlive it.
  HttpConnections(std::vector<std::unique_ptr<HttpRequest>>& requests, Finished finished);
  ~HttpConnections();  // gives up what is in flight, without a word
  HttpConnections(const HttpConnections&) = delete;
  HttpConnections& operator=(const HttpConnections&) = delete;

  void begin(size_t request);  // which was made ready by post() and is not in flight
  // Gives up all that is in flight and returns which. What had finished before is still told.
  std::vector<size_t> abandon();

 private:
  struct Ended {
    size_t request = 0;
    std::optional<Fault> fault;
  };
  void serve();
  void send_queued();                          // unless another thread has the mutex, which then does
  void start_queued();                         // under mutex_
  void start(size_t request);                  // under mutex_
  void take_ended(std::vector<Ended>& ended);  // under mutex_
  void wake() const;
  int plan_next_look();  // the timeout of epoll_wait, in milliseconds; under mutex_
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
  std::mutex queue_mutex_;  // of queued_ alone; taken with or without mutex_, and nothing is waited for under it
  std::vector<size_t> queued_;
  std::mutex mutex_;  // of libcurl's state and all below
  std::vector<size_t> starting_;
  std::vector<bool> in_flight_;
  int running_ = 0;
  std::optional<Nanoseconds> timer_;  // when libcurl wants to be asked, of the monotonic clock
  Nanoseconds next_look_ = 0;         // when the thread that takes answers looks by itself
  int epoll_ = -1, wake_ = -1;
  std::vector<Watched> watched_;  // by descriptor
  bool stopping_ = false;
  std::unique_ptr<CURLM, FreeMulti> multi_;
  std::jthread thread_;  // last
};

}  // namespace deepgap
