// A TCP socket that listens on the loopback interface, for tests and benchmarks that play a server. accept() from one thread, the rest from
// any; ends with the object.
#pragma once

#include <deepgap/error.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>

namespace deepgap {

inline sockaddr_in loopback_address(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

class LoopbackListener {
 public:
  // Port 0: any that is free. Throws Error{internal} where another program listens there.
  explicit LoopbackListener(uint16_t port = 0) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_in address = loopback_address(port);
    if (::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 || ::listen(socket_, 1024) != 0) {
      ::close(socket_);
      throw Error(ErrorKind::internal, "cannot listen on port " + std::to_string(port) + " of 127.0.0.1");
    }
    socklen_t size = sizeof(address);
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  ~LoopbackListener() { ::close(socket_); }
  LoopbackListener(const LoopbackListener&) = delete;
  LoopbackListener& operator=(const LoopbackListener&) = delete;

  int socket() const { return socket_; }
  uint16_t port() const { return port_; }
  std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
  // A connection, whose small messages are not held back; -1 once stop() was called.
  int accept() const {
    const int connection = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    const int on = 1;
    if (connection >= 0) ::setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return connection;
  }
  void stop() const { ::shutdown(socket_, SHUT_RDWR); }  // nobody listens any more

 private:
  int socket_;
  uint16_t port_ = 0;
};

}  // namespace deepgap
