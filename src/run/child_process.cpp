#include "run/child_process.h"

#include "record/duel_set.h"
#include "record/tenant_set.h"
#include "worker/point_options.h"
#include "worker/reading.h"
#include "worker/worker_main.h"

#include <deepgap/error.h>

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

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
  options.limits_are_lifted = limits.are_lifted;
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
  ChildProcess* const self = this;
  while (true) {
    if (auto next = take()) {
      frame = std::move(*next);
      return Event::frame;
    }
    if (ended_) return Event::ended;
    if (std::chrono::steady_clock::now() >= deadline) return Event::silence;
    if (wait_for_any({&self, 1}, deadline, interrupts)) return Event::interrupted;
  }
}

bool ChildProcess::wait_for_any(std::span<ChildProcess* const> children, std::chrono::steady_clock::time_point deadline,
                                Interrupts* interrupts) {
  // -1 is passed over
  std::vector<pollfd> polled{{interrupts == nullptr ? -1 : interrupts->descriptor(), POLLIN, 0}};
  for (ChildProcess* child : children) {
    polled.push_back({child->ended_ ? -1 : child->process_.channel(), POLLIN, 0});
    polled.push_back({child->process_.output_descriptor(), POLLIN, 0});
  }
  if (::poll(polled.data(), polled.size(), milliseconds_until(deadline)) < 0) {
    if (errno == EINTR) return false;
    for (ChildProcess* child : children) child->ended_ = true;
    return false;
  }
  for (size_t i = 0; i < children.size(); ++i) {
    ChildProcess& child = *children[i];
    if (polled[2 * i + 2].revents != 0) child.process_.drain_output();
    // A torn frame before the end is dropped with the parser.
    if (polled[2 * i + 1].revents != 0 && !child.take_bytes()) child.ended_ = true;
  }
  if (polled[0].revents == 0) return false;
  interrupts->clear_descriptor();
  return true;
}

std::string ChildProcess::output_tail() {
  process_.drain_output();
  return process_.output_tail();
}

ExitState ChildProcess::exit_state() {
  if (const auto state = process_.wait(std::chrono::seconds(5))) return *state;
  process_.send_signal(SIGKILL);  // it closed the channel and lives on: no worker of ours does
  return process_.wait(std::chrono::seconds(5)).value_or(ExitState{0, SIGKILL});
}

bool may_go_on(const Point& point) {
  const bool alone = point.placement.processes == 1 && !tenant_place(point) && !contender_place(point);
  return is_remote(point.placement) && alone && !reads_files(point) && !point.options.contains("affinity") &&
         worker_environment(point).empty();
}

std::unique_ptr<WorkerLink> ProcessHost::start(const Point& point) {
  if (looked_ && may_go_on(point)) {
    looked_->lift_limits();
    return std::move(looked_);
  }
  return std::make_unique<ChildProcess>(worker_command, worker_environment(point));
}

Nanoseconds ProcessHost::now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

bool ProcessHost::wait(std::span<WorkerLink* const> links, Nanoseconds deadline) {
  std::vector<ChildProcess*> children;
  for (WorkerLink* link : links) children.push_back(static_cast<ChildProcess*>(link));  // start() made them
  const std::chrono::nanoseconds since_epoch(deadline);
  return ChildProcess::wait_for_any(children, std::chrono::steady_clock::time_point(since_epoch), &interrupts_);
}

}  // namespace deepgap
