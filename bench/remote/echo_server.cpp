// An HTTP server that answers as fast as one thread can: KServe v2 with one model, `echo`, y = x of [N, 16] FP32, tensors as bytes. It
// reads no more of a request than lengths and its id, and sends the input's bytes back. For the rate that a client reaches by itself.
//
//   echo_server [PORT]     prints its URL; ends with its standard input, and prints how many inputs it sent back
#include "base/loopback_listener.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

namespace deepgap {
namespace {

constexpr size_t row_bytes = 16 * sizeof(float);

std::string reply(std::string_view body, std::string_view more = "", std::string_view kind = "application/json") {
  return fmt::format("HTTP/1.1 200 OK\r\nContent-Type: {}\r\n{}Content-Length: {}\r\n\r\n{}", kind, more, body.size(), body);
}

std::string about(std::string_view path) {
  if (path == "/v2") return reply(R"({"name":"echo","version":"1","extensions":["binary_tensor_data"]})");
  if (path == "/v2/models/echo/config") return reply(R"({"max_batch_size":8})");
  if (path == "/v2/models/echo/ready") return reply("");
  if (path != "/v2/models/echo") return "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
  return reply(R"({"name":"echo","platform":"echo","inputs":[{"name":"x","datatype":"FP32","shape":[-1,16]}],)"
               R"("outputs":[{"name":"y","datatype":"FP32","shape":[-1,16]}]})");
}

// `"id":"7",` of the request, or nothing.
std::string_view id_of(std::string_view json) {
  const size_t at = json.find(R"("id":")");
  return at == std::string_view::npos ? "" : json.substr(at, json.find('"', at + 6) + 1 - at);
}

std::string echo(std::string_view request, std::string_view tensor) {
  const std::string_view id = id_of(request);
  const std::string json = fmt::format(
      R"({{{}{}"model_name":"echo","outputs":[{{"name":"y","datatype":"FP32","shape":[{},16],"parameters":{{"binary_data_size":{}}}}}]}})",
      id, id.empty() ? "" : ",", tensor.size() / row_bytes, tensor.size());
  return reply(json + std::string(tensor), fmt::format("Inference-Header-Content-Length: {}\r\n", json.size()), "application/octet-stream");
}

size_t number_behind(std::string_view head, std::string_view name) {
  const size_t at = head.find(name);
  return at == std::string_view::npos ? 0 : std::strtoull(head.data() + at + name.size(), nullptr, 10);
}

// Answers whole requests at the beginning of `input`; `answered` counts inputs that were sent back.
std::string answers(std::string& input, int64_t& answered) {
  std::string output;
  size_t done = 0;
  for (;;) {
    const std::string_view left = std::string_view(input).substr(done);
    const size_t end = left.find("\r\n\r\n");
    if (end == std::string_view::npos) break;
    const std::string_view head = left.substr(0, end + 4);
    const size_t json = number_behind(head, "\nInference-Header-Content-Length: "), body = number_behind(head, "\nContent-Length: ");
    if (left.size() < head.size() + body) break;
    const size_t path = head.find(' ') + 1;
    answered += head.starts_with("POST") ? 1 : 0;
    output += head.starts_with("POST") ? echo(left.substr(head.size(), json), left.substr(head.size() + json, body - json))
                                       : about(head.substr(path, head.find(' ', path) - path));
    done += head.size() + body;
  }
  input.erase(0, done);
  return output;
}

class Server {
 public:
  explicit Server(uint16_t port) : epoll_(::epoll_create1(0)), listener_(port) {
    fmt::print("http://{}\n", listener_.host());
    std::fflush(stdout);
    watch(listener_.socket());
    watch(STDIN_FILENO);
  }
  void serve() {
    std::array<epoll_event, 256> events;
    for (;;) {
      const int count = ::epoll_wait(epoll_, events.data(), events.size(), -1);
      for (int i = 0; i < count; ++i) {
        const int socket = events[static_cast<size_t>(i)].data.fd;
        if (socket == STDIN_FILENO) {
          fmt::print("{}\n", answered_);
          return;
        }
        socket == listener_.socket() ? watch(listener_.accept()) : talk(socket);
      }
    }
  }

 private:
  void watch(int socket) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = socket}};
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event);
  }
  void talk(int socket) {
    std::array<char, 65536> bytes;
    const ssize_t count = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (count <= 0) {
      inputs_.erase(socket);
      ::close(socket);
      return;
    }
    std::string& input = inputs_[socket];
    input.append(bytes.data(), static_cast<size_t>(count));
    const std::string output = answers(input, answered_);
    for (size_t at = 0; at < output.size();) {
      const ssize_t sent = ::send(socket, output.data() + at, output.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) break;
      at += static_cast<size_t>(sent);
    }
  }
  int epoll_;
  LoopbackListener listener_;
  std::map<int, std::string> inputs_;
  int64_t answered_ = 0;
};

}  // namespace
}  // namespace deepgap

int main(int count, char** arguments) {
  try {
    deepgap::Server(static_cast<uint16_t>(count > 1 ? std::atoi(arguments[1]) : 0)).serve();
    return 0;
  } catch (const deepgap::Error& error) {
    fmt::print(stderr, "echo_server: {}\n", error.what());
    return 1;
  }
}
