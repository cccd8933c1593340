// For tests: an HTTP/1.1 server on the loopback interface whose every answer, and every misdeed, is scripted. It keeps no time of its own:
// what it does follows from what it was asked.
#pragma once

#include "base/loopback_listener.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace deepgap {

struct ScriptedRequest {
  std::string method, path, body;
  std::map<std::string, std::string> headers;  // names in small letters
  int connection = 0;                          // from 0, in order of acceptance
};

struct ScriptedReply {
  enum class End { keep, close, reset, hang };  // what becomes of the connection afterwards; hang: silence, until the server stops
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::vector<std::string> headers = {};
  End end = End::keep;
  bool silent = false;       // no answer at all: `end` is all that happens
  size_t missing = 0;        // bytes of the body that are announced and never come
  bool drop_unsaid = false;  // the connection is closed after this answer, which does not say so
};

class ScriptedServer {
 public:
  using Script = std::function<ScriptedReply(const ScriptedRequest&)>;
  // Port 0: any that is free.
  explicit ScriptedServer(Script script, uint16_t port = 0)
      : script_(std::move(script)), listener_(std::in_place, port), port_(listener_->port()) {
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~ScriptedServer() { stop(); }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  uint16_t port() const { return port_; }
  std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url() const { return "http://" + host(); }
  std::vector<ScriptedRequest> seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  size_t seen_at(const std::string& path) {
    const std::vector<ScriptedRequest> all = seen();
    return static_cast<size_t>(std::count_if(all.begin(), all.end(), [&](const ScriptedRequest& one) { return one.path == path; }));
  }
  int connections() {
    const std::lock_guard lock(mutex_);
    return accepted_;
  }
  // Acts like a process that ends: nobody listens, and all connections are closed.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(stopped_, true)) return;
      listener_->stop();
      for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
    }
    acceptor_.join();
    for (std::thread& thread : serving_) thread.join();
    listener_.reset();
  }

 private:
  void accept_all() {
    for (;;) {
      const int socket = listener_->accept();
      if (socket < 0) return;
      const std::lock_guard lock(mutex_);
      if (stopped_) {
        ::close(socket);
        return;
      }
      open_.push_back(socket);
      serving_.emplace_back([this, socket, number = accepted_++] { serve(socket, number); });
    }
  }

  void serve(int socket, int number) {
    std::string input;
    while (auto request = read_request(socket, input)) {
      request->connection = number;
      {
        const std::lock_guard lock(mutex_);
        seen_.push_back(*request);
      }
      const ScriptedReply reply = script_(*request);
      if (!reply.silent && !send_all(socket, text_of(reply))) break;
      if (reply.end == ScriptedReply::End::hang) {
        char byte;
        while (::recv(socket, &byte, 1, 0) > 0) {
        }
        break;
      }
      if (reply.end == ScriptedReply::End::reset) {
        const linger hard{1, 0};
        ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
        break;
      }
      if (reply.end == ScriptedReply::End::close || reply.missing > 0 || reply.drop_unsaid) break;
    }
    const std::lock_guard lock(mutex_);
    std::erase(open_, socket);
    ::close(socket);
  }

  static std::string text_of(const ScriptedReply& reply) {
    std::string text = "HTTP/1.1 " + std::to_string(reply.status) + " Scripted\r\n";
    if (!reply.content_type.empty()) text += "Content-Type: " + reply.content_type + "\r\n";
    for (const std::string& header : reply.headers) text += header + "\r\n";
    text += "Content-Length: " + std::to_string(reply.body.size() + reply.missing) + "\r\n";
    if (reply.end == ScriptedReply::End::close) text += "Connection: close\r\n";
    return text + "\r\n" + reply.body;
  }

  static bool send_all(int socket, const std::string& text) {
    for (size_t at = 0; at < text.size();) {
      const ssize_t sent = ::send(socket, text.data() + at, text.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) return false;
      at += static_cast<size_t>(sent);
    }
    return true;
  }

  static bool receive_more(int socket, std::string& input) {
    char bytes[65536];
    const ssize_t count = ::recv(socket, bytes, sizeof(bytes), 0);
    if (count <= 0) return false;
    input.append(bytes, static_cast<size_t>(count));
    return true;
  }

  static std::optional<ScriptedRequest> read_request(int socket, std::string& input) {
    size_t end = 0;
    while ((end = input.find("\r\n\r\n")) == std::string::npos) {
      if (!receive_more(socket, input)) return std::nullopt;
      constexpr char tls_handshake = 0x16;
      if (input[0] != tls_handshake) continue;
      send_all(socket, "HTTP/1.1 400 Bad Request\r\n\r\n");
      return std::nullopt;
    }
    ScriptedRequest request;
    size_t line = input.find("\r\n");
    const std::string first = input.substr(0, line);
    request.method = first.substr(0, first.find(' '));
    request.path = first.substr(request.method.size() + 1, first.rfind(' ') - request.method.size() - 1);
    while (line < end) {
      const size_t begin = line + 2;
      line = input.find("\r\n", begin);
      const size_t colon = input.find(':', begin);
      std::string name = input.substr(begin, colon - begin);
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      const size_t value = input.find_first_not_of(' ', colon + 1);
      request.headers[name] = input.substr(value, line - value);
    }
    const auto length = request.headers.find("content-length");
    const size_t size = length == request.headers.end() ? 0 : std::stoull(length->second);
    while (input.size() < end + 4 + size)
      if (!receive_more(socket, input)) return std::nullopt;
    request.body = input.substr(end + 4, size);
    input.erase(0, end + 4 + size);
    return request;
  }

  Script script_;
  std::optional<LoopbackListener> listener_;  // until stop(), so that another may have its port
  const uint16_t port_;
  std::mutex mutex_;
  bool stopped_ = false;
  int accepted_ = 0;
  std::vector<int> open_;
  std::vector<ScriptedRequest> seen_;
  std::vector<std::thread> serving_;
  std::thread acceptor_;
};

}  // namespace deepgap
