// Measures what a machine lets one thread on one CPU do: requests to an echo_server at the times of a Poisson process, over connections
// opened beforehand, with nothing around them. The second instrument beside deepgap's lateness: if this is late too, the machine is.
//
//   epoll_sender URL RATE SECONDS [CONNECTIONS]
//
// prints answered/s, latency's mean and p99 in ms, and the p99 and the largest of how late it sent, in us.
#include <deepgap/error.h>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {
namespace {

int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

int connect_to(std::string_view url) {
  const size_t colon = url.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(std::atoi(url.data() + colon + 1)));
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int one = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    throw Error(ErrorKind::input, fmt::format("no connection to {}", url));
  return socket;
}

std::string request() {
  const std::string json = R"({"inputs":[{"name":"x","shape":[1,16],"datatype":"FP32","parameters":{"binary_data_size":64}}],)"
                           R"("outputs":[{"name":"y","parameters":{"binary_data":true}}]})";
  return fmt::format(
      "POST /v2/models/echo/infer HTTP/1.1\r\nHost: 127.0.0.1\r\nInference-Header-Content-Length: {}\r\nContent-Length: {}\r\n\r\n{}{}",
      json.size(), json.size() + 64, json, std::string(64, '\0'));
}

class Sender {
 public:
  Sender(std::string_view url, size_t connections) : epoll_(::epoll_create1(EPOLL_CLOEXEC)), due_(connections) {
    for (size_t i = 0; i < connections; ++i) {
      sockets_.push_back(connect_to(url));
      epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, sockets_[i], &event);
      idle_.push_back(connections - 1 - i);  // the last one used is used next
    }
  }

  void run(double rate, double seconds) {
    std::mt19937_64 random(1);
    std::exponential_distribution<double> gap(rate / 1e9);
    const int64_t begin = now(), end = begin + static_cast<int64_t>(seconds * 1e9);
    double due = static_cast<double>(begin);
    while (static_cast<int64_t>(due) < end || idle_.size() < sockets_.size()) {
      for (int64_t time = now(); static_cast<int64_t>(due) <= time && static_cast<int64_t>(due) < end && !idle_.empty(); time = now()) {
        send(static_cast<int64_t>(due), time);
        due += gap(random);
        take();  // what was answered meanwhile
      }
      take();
    }
    show(static_cast<double>(now() - begin) / 1e9);
  }

 private:
  void send(int64_t due, int64_t time) {
    const size_t one = idle_.back();
    idle_.pop_back();
    due_[one] = due;
    late_.push_back(time - due);
    if (::send(sockets_[one], request_.data(), request_.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request_.size()))
      throw Error(ErrorKind::internal, "a request was not sent whole");
  }

  // Answers are a few hundred bytes, which loopback brings at once.
  void take() {
    std::array<epoll_event, 64> events;
    std::array<char, 4096> bytes;
    const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) {
      const size_t one = events[static_cast<size_t>(i)].data.u64;
      if (::recv(sockets_[one], bytes.data(), bytes.size(), 0) <= 0) throw Error(ErrorKind::internal, "the server closed a connection");
      took_.push_back(now() - due_[one]);
      idle_.push_back(one);
    }
  }

  void show(double seconds) {
    std::sort(took_.begin(), took_.end());
    std::sort(late_.begin(), late_.end());
    const auto p99 = [](const std::vector<int64_t>& sorted) { return static_cast<double>(sorted[sorted.size() * 99 / 100]); };
    const double mean = static_cast<double>(std::accumulate(took_.begin(), took_.end(), int64_t{0})) / static_cast<double>(took_.size());
    fmt::print("{:.1f} {:.3f} {:.3f} {:.1f} {:.1f}\n", static_cast<double>(took_.size()) / seconds, mean / 1e6, p99(took_) / 1e6,
               p99(late_) / 1e3, static_cast<double>(late_.back()) / 1e3);
  }

  int epoll_;
  std::string request_ = request();
  std::vector<int> sockets_;
  std::vector<size_t> idle_;
  std::vector<int64_t> due_, took_, late_;
};

}  // namespace
}  // namespace deepgap

int main(int count, char** arguments) {
  if (count < 4) {
    fmt::print(stderr, "usage: epoll_sender URL RATE SECONDS [CONNECTIONS]\n");
    return 2;
  }
  try {
    deepgap::Sender sender(arguments[1], count > 4 ? std::strtoull(arguments[4], nullptr, 10) : 256);
    sender.run(std::atof(arguments[2]), std::atof(arguments[3]));
    return 0;
  } catch (const deepgap::Error& error) {
    fmt::print(stderr, "epoll_sender: {}\n", error.what());
    return 1;
  }
}
