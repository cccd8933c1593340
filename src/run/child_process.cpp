#include "run/child_process.h"

#include <deepgap/error.h>

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

namespace deepgap {
namespace {

SubprocessOptions child_options(const std::string& command, const std::map<std::string, std::string>& environment,
                                const ChildLimits& limits) {
  SubprocessOptions options;
  options.program = "/proc/self/exe";  // this very program, even when its file was replaced meanwhile
  options.arguments = {"deepgap", command};
  options.environment = environment;
  // libgomp's threads spin at the end of each parallel region, by default for milliseconds: on a shared machine that uses up the time that
  // the next region needs. This many turns stay under one millisecond. Read when libgomp is loaded, so no plug-in can set it. A value of
  // the user's holds.
  if (std::getenv("GOMP_SPINCOUNT") == nullptr && std::getenv("OMP_WAIT_POLICY") == nullptr && environment.count("OMP_WAIT_POLICY") == 0) {
    options.environment.emplace("GOMP_SPINCOUNT", "10000");
  }
  options.channel = true;
  options.data_bytes = limits.data_bytes;
  options.cpu_seconds = limits.cpu_seconds;
  return options;
}

int milliseconds_until(std::chrono::steady_clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left + 1, 0, 3'600'000));
}

}  // namespace

ChildProcess::ChildProcess(const std::string& command, const std::map<std::string, std::string>& environment, const ChildLimits& limits)
    : process_(child_options(command, environment, limits)), writer_(process_.channel()) {}

bool ChildProcess::send(const Frame& frame) {
  try {
    writer_.write(frame);
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool ChildProcess::take_bytes() {
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t count = ::recv(process_.channel(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count > 0) {
      parser_.feed({buffer.data(), static_cast<size_t>(count)});
      return true;
    }
    if (count < 0 && errno == EINTR) continue;
    return count < 0 && errno == EAGAIN;
  }
}

ChildProcess::Event ChildProcess::wait(Frame& frame, std::chrono::steady_clock::time_point deadline, Interrupts* interrupts) {
  while (true) {
    if (auto next = parser_.next()) {
      frame = std::move(*next);
      return Event::frame;
    }
    if (ended_) return Event::ended;
    if (std::chrono::steady_clock::now() >= deadline) return Event::silence;
    std::array<pollfd, 3> polled{{{process_.channel(), POLLIN, 0},
                                  {interrupts == nullptr ? -1 : interrupts->descriptor(), POLLIN, 0},
                                  {process_.output_descriptor(), POLLIN, 0}}};  // -1 is passed over
    if (::poll(polled.data(), polled.size(), milliseconds_until(deadline)) < 0 && errno != EINTR) return Event::ended;
    if (polled[2].revents != 0) process_.drain_output();
    if (polled[1].revents != 0) {
      interrupts->clear_descriptor();
      return Event::interrupted;
    }
    // A torn frame before the end is dropped with the parser.
    if (polled[0].revents != 0 && !take_bytes()) ended_ = true;
  }
}

ExitState ChildProcess::exit_state() {
  if (const auto state = process_.wait(std::chrono::seconds(5))) return *state;
  process_.send_signal(SIGKILL);  // it closed the channel and lives on: no worker of ours does
  return process_.wait(std::chrono::seconds(5)).value_or(ExitState{0, SIGKILL});
}

}  // namespace deepgap
