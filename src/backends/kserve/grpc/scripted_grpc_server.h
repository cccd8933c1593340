// For tests: a gRPC server on the loopback interface whose every answer, and every misdeed, is scripted; and a relay in front of one that
// can break its connections. They keep no time of their own: what they do follows from what they were asked.
#pragma once

#include "backends/kserve/grpc/connection.h"
#include "base/loopback_listener.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace deepgap {

struct ScriptedCall {
  std::string method;  // "ModelInfer"
  std::string message;
  std::map<std::string, std::string> metadata;
};

struct ScriptedAnswer {
  grpc::Status status = {};  // not OK: it ends the call, or the stream
  std::string message = {};
  enum class End { keep, hang, end_stream } end = End::keep;  // hang: silence, until the caller gives up; end_stream: no answer
};

class ScriptedGrpcServer {
 public:
  using Script = std::function<ScriptedAnswer(const ScriptedCall&)>;
  // Port 0: any that is free.
  explicit ScriptedGrpcServer(Script script, int port = 0,
                              const std::shared_ptr<grpc::ServerCredentials>& credentials = grpc::InsecureServerCredentials())
      : service_(std::move(script)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:" + std::to_string(port), credentials, &port_);
    builder.SetMaxReceiveMessageSize(1'000'000);
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
  }
  ~ScriptedGrpcServer() { stop(); }
  ScriptedGrpcServer(const ScriptedGrpcServer&) = delete;
  ScriptedGrpcServer& operator=(const ScriptedGrpcServer&) = delete;

  int port() const { return port_; }
  std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
  std::vector<ScriptedCall> seen() { return service_.seen(); }
  size_t seen_at(const std::string& method) {
    const auto all = seen();
    return static_cast<size_t>(std::count_if(all.begin(), all.end(), [&](const ScriptedCall& call) { return call.method == method; }));
  }
  size_t calls() { return service_.calls(); }
  // Acts like a process that ends: nobody listens, all connections are closed.
  void stop() {
    if (server_ == nullptr) return;
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
    server_.reset();
  }

 private:
  class Service final : public grpc::CallbackGenericService {
   public:
    explicit Service(Script script) : script_(std::move(script)) {}
    grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
      const std::lock_guard lock(mutex_);
      ++calls_;
      return new Reactor(*this, *context);
    }
    ScriptedAnswer answer(const ScriptedCall& call) {
      {
        const std::lock_guard lock(mutex_);
        seen_.push_back(call);
      }
      return script_(call);
    }
    std::vector<ScriptedCall> seen() {
      const std::lock_guard lock(mutex_);
      return seen_;
    }
    size_t calls() {
      const std::lock_guard lock(mutex_);
      return calls_;
    }

   private:
    Script script_;
    std::mutex mutex_;
    std::vector<ScriptedCall> seen_;
    size_t calls_ = 0;  // streams are one each
  };

  class Reactor final : public grpc::ServerGenericBidiReactor {
   public:
    Reactor(Service& service, const grpc::GenericCallbackServerContext& context) : service_(service) {
      call_.method = context.method().substr(context.method().rfind('/') + 1);
      for (const auto& [key, value] : context.client_metadata())
        call_.metadata[std::string(key.data(), key.size())] = std::string(value.data(), value.size());
      StartRead(&request_);
    }
    void OnReadDone(bool ok) override {
      if (!ok) return end(grpc::Status::OK);
      grpc::Slice bytes;
      if (!request_.DumpToSingleSlice(&bytes).ok()) bytes = grpc::Slice();
      call_.message.assign(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
      const ScriptedAnswer answer = service_.answer(call_);
      if (answer.end == ScriptedAnswer::End::hang) return;
      if (!answer.status.ok() || answer.end == ScriptedAnswer::End::end_stream) return end(answer.status);
      const grpc::Slice slice(answer.message);
      reply_ = grpc::ByteBuffer(&slice, 1);
      if (call_.method == "ModelStreamInfer") return StartWrite(&reply_);
      StartWriteAndFinish(&reply_, {}, grpc::Status::OK);
    }
    void OnWriteDone(bool ok) override {
      if (ok && call_.method == "ModelStreamInfer") StartRead(&request_);
    }
    void OnCancel() override { end(grpc::Status::CANCELLED); }
    void OnDone() override { delete this; }

   private:
    void end(const grpc::Status& status) {
      if (!ended_.exchange(true)) Finish(status);
    }
    Service& service_;
    ScriptedCall call_;
    grpc::ByteBuffer request_, reply_;
    std::atomic<bool> ended_ = false;
  };

  int port_ = 0;
  Service service_;
  std::unique_ptr<grpc::Server> server_;
};

// Passes bytes on between clients and a port of this machine until a test breaks all connections.
class BreakableRelay {
 public:
  explicit BreakableRelay(int to) : to_(static_cast<uint16_t>(to)) {
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~BreakableRelay() {
    listener_.stop();
    acceptor_.join();
    break_all();
    for (std::thread& thread : pumps_) thread.join();
    for (const auto& pair : pairs_)
      for (const int socket : pair) ::close(socket);
  }
  BreakableRelay(const BreakableRelay&) = delete;
  BreakableRelay& operator=(const BreakableRelay&) = delete;

  std::string host() const { return listener_.host(); }
  void break_all() {
    const std::lock_guard lock(mutex_);
    for (const auto& pair : pairs_)
      for (const int socket : pair) ::shutdown(socket, SHUT_RDWR);
  }
  size_t connections() {
    const std::lock_guard lock(mutex_);
    return pairs_.size();
  }

 private:
  void accept_all() {
    for (;;) {
      const int client = listener_.accept();
      if (client < 0) return;
      const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in address = loopback_address(to_);
      ::connect(server, reinterpret_cast<sockaddr*>(&address), sizeof(address));
      const std::lock_guard lock(mutex_);
      pairs_.push_back({client, server});
      pumps_.emplace_back([client, server] { pump(client, server); });
    }
  }
  static void pump(int client, int server) {
    std::array<pollfd, 2> ends{{{client, POLLIN, 0}, {server, POLLIN, 0}}};
    std::array<char, 65536> bytes;
    for (;;) {
      ::poll(ends.data(), ends.size(), -1);
      for (size_t i = 0; i < ends.size(); ++i) {
        if (ends[i].revents == 0) continue;
        const ssize_t count = ::recv(ends[i].fd, bytes.data(), bytes.size(), 0);
        if (count <= 0 || ::send(ends[1 - i].fd, bytes.data(), static_cast<size_t>(count), MSG_NOSIGNAL) != count) {
          ::shutdown(client, SHUT_RDWR);
          ::shutdown(server, SHUT_RDWR);
          return;
        }
      }
    }
  }

  const uint16_t to_;
  LoopbackListener listener_;
  std::mutex mutex_;
  std::vector<std::array<int, 2>> pairs_;
  std::vector<std::thread> pumps_;
  std::thread acceptor_;
};

}  // namespace deepgap
