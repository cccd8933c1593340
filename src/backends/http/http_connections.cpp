#include "backends/http/http_connections.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace deepgap {
namespace {

// libcurl's own timers, which are milliseconds from now.
Nanoseconds monotonic_now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

}  // namespace

HttpConnections::HttpConnections(std::vector<std::unique_ptr<HttpRequest>>& requests, Finished finished)
    : requests_(requests), finished_(std::move(finished)), in_flight_(requests.size()), multi_(curl_multi_init()) {
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  timerfd_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (multi_ == nullptr || epoll_ < 0 || timerfd_ < 0) throw Error(ErrorKind::out_of_memory, "no descriptors or memory for connections");
  epoll_event event{.events = EPOLLIN, .data = {.fd = timerfd_}};
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, timerfd_, &event);
  for (size_t i = 0; i < requests.size(); ++i) {
    CURL* easy = requests[i]->handle();
    curl_easy_setopt(easy, CURLOPT_PRIVATE, reinterpret_cast<void*>(i));
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &HttpConnections::on_open);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, static_cast<void*>(this));
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, &HttpConnections::on_close);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, static_cast<void*>(this));
  }
  CURLM* multi = multi_.get();
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, &HttpConnections::on_socket);
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, &HttpConnections::on_timer);
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, static_cast<long>(requests.size()));
  curl_multi_setopt(multi, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
}

HttpConnections::~HttpConnections() {
  for (size_t i = 0; i < requests_.size(); ++i)
    if (in_flight_[i]) curl_multi_remove_handle(multi_.get(), requests_[i]->handle());
  multi_.reset();  // closes its sockets through on_close
  ::close(epoll_);
  ::close(timerfd_);
}

void HttpConnections::begin(size_t request) {
  curl_multi_add_handle(multi_.get(), requests_[request]->handle());
  in_flight_[request] = true;
  const int was_running = running_;
  curl_multi_socket_action(multi_.get(), CURL_SOCKET_TIMEOUT, 0, &running_);
  if (running_ <= was_running) tell_ended();  // it has ended at once
  if (timer_ && running_ > 0) arm(*timer_);
}

std::vector<size_t> HttpConnections::abandon() {
  std::vector<size_t> given_up;
  for (size_t i = 0; i < requests_.size(); ++i) {
    if (!in_flight_[i]) continue;
    curl_multi_remove_handle(multi_.get(), requests_[i]->handle());
    in_flight_[i] = false;
    given_up.push_back(i);
  }
  running_ = 0;
  return given_up;
}

void HttpConnections::tell_ended() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* easy = message->easy_handle;
    const CURLcode code = message->data.result;  // the message goes with the next call
    char* place = nullptr;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &place);
    const auto index = reinterpret_cast<size_t>(place);
    const std::optional<RequestError> request_error = requests_[index]->request_error(code);
    curl_multi_remove_handle(multi_.get(), easy);
    in_flight_[index] = false;
    finished_(index, request_error);
  }
}

// One that is earlier stays: take() then finds nothing to do, which costs less than setting it for the time-out of every request.
void HttpConnections::arm(Nanoseconds time) {
  if (armed_ <= time) return;
  armed_ = time;
  itimerspec spec{};
  spec.it_value.tv_sec = time / 1'000'000'000;
  spec.it_value.tv_nsec = time % 1'000'000'000;
  ::timerfd_settime(timerfd_, TFD_TIMER_ABSTIME, &spec, nullptr);
}

void HttpConnections::act(int socket, int events) {
  if (socket == timerfd_) {
    uint64_t count = 0;
    if (::read(timerfd_, &count, sizeof(count)) > 0) armed_ = never;
    return;
  }
  if (!watched(socket).wanted) return watch(socket, 0);  // an idle connection ended, which libcurl sees when it would use it
  const int what = ((events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) | ((events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                   ((events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
  curl_multi_socket_action(multi_.get(), socket, what, &running_);
}

void HttpConnections::take() { take_within(0); }
void HttpConnections::wait() { take_within(-1); }

void HttpConnections::take_within(int wait_ms) {
  std::array<epoll_event, 64> events;
  const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), wait_ms);
  if (count <= 0) return;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) act(events[i].data.fd, static_cast<int>(events[i].events));
  if (timer_ && *timer_ <= monotonic_now()) {
    timer_.reset();
    curl_multi_socket_action(multi_.get(), CURL_SOCKET_TIMEOUT, 0, &running_);
  }
  if (timer_ && running_ > 0) arm(*timer_);
  tell_ended();
}

HttpConnections::Watched& HttpConnections::watched(int socket) {
  const auto at = static_cast<size_t>(socket);
  if (at >= watched_.size()) watched_.resize(at + 1);
  return watched_[at];
}

void HttpConnections::watch(int socket, uint32_t events) {
  Watched& known = watched(socket);
  if (known.events == events) return;
  epoll_event event{.events = events, .data = {.fd = socket}};
  ::epoll_ctl(epoll_, events == 0 ? EPOLL_CTL_DEL : known.events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event);
  known.events = events;
}

// libcurl takes a connection out after each request and puts it back with the next: two system calls, of which none is needed while it
// stays open. Descriptors that are not known to be connections, which a name's look-up has, go at once: they may be closed unheard.
int HttpConnections::on_socket(CURL*, curl_socket_t socket, int what, void* self, void*) {
  auto& connections = *static_cast<HttpConnections*>(self);
  Watched& known = connections.watched(socket);
  known.wanted = what != CURL_POLL_REMOVE;
  if (!known.wanted) {
    if (!known.kept) connections.watch(socket, 0);
    return 0;
  }
  uint32_t events = 0;
  if ((what & CURL_POLL_IN) != 0) events |= EPOLLIN;
  if ((what & CURL_POLL_OUT) != 0) events |= EPOLLOUT;
  connections.watch(socket, events);
  return 0;
}

curl_socket_t HttpConnections::on_open(void* self, curlsocktype, curl_sockaddr* address) {
  const int socket = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (socket >= 0) static_cast<HttpConnections*>(self)->watched(socket) = {.kept = true};
  return socket < 0 ? CURL_SOCKET_BAD : socket;
}

int HttpConnections::on_close(void* self, curl_socket_t socket) {
  static_cast<HttpConnections*>(self)->watched(socket) = {};  // the kernel takes it out of the set
  return ::close(socket);
}

int HttpConnections::on_timer(CURLM*, long timeout_ms, void* self) {
  auto& connections = *static_cast<HttpConnections*>(self);
  if (timeout_ms < 0) {
    connections.timer_.reset();
  } else {
    connections.timer_ = monotonic_now() + timeout_ms * 1'000'000;
  }
  return 0;
}

}  // namespace deepgap
