// ChildProcess: the parent's end of a child of this program that talks in frames: `deepgap COMMAND`, a worker or another hidden subcommand.
// Waits for a frame, its death, silence or Ctrl-C, whatever comes first; its output is taken meanwhile. Not thread-safe; the child is
// killed with this object.
#pragma once

#include "base/subprocess.h"
#include "run/interrupts.h"
#include "run/worker_link.h"
#include "worker/protocol.h"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace deepgap {

struct ChildLimits {
  std::optional<uint64_t> data_bytes, cpu_seconds;
  bool are_lifted = false;  // for good, once it has done what they are for
};

class ChildProcess final : public WorkerLink {
 public:
  enum class Event { frame, silence, ended, interrupted };

  explicit ChildProcess(const std::string& command, const std::map<std::string, std::string>& environment = {},
                        const ChildLimits& limits = {});
  bool send(const Frame& frame) override;
  std::optional<Frame> take() override { return parser_.next(); }
  bool ended() const override { return ended_; }
  void send_signal(int number) override { process_.send_signal(number); }
  void lift_limits() { process_.lift_limits(); }
  ExitState exit_state() override;  // waits a moment for it
  std::string output_tail() override;
  // Returns `interrupted` only with `interrupts`, if one came since the last report. Throws Error{internal} on bytes that are no frame.
  Event wait(Frame& frame, std::chrono::steady_clock::time_point deadline, Interrupts* interrupts = nullptr);
  // Waits until one of them has sent something or ended, the deadline, or an interrupt; true if one came since the last report.
  static bool wait_for_any(std::span<ChildProcess* const> children, std::chrono::steady_clock::time_point deadline, Interrupts* interrupts);

 private:
  bool take_bytes();  // false: the end of the channel

  Subprocess process_;
  FrameParser parser_;
  FrameWriter writer_;
  bool ended_ = false;
};

// Returns whether the child that looked at a Point may go on as its worker: it is on a server, whose answers a worker reads as well,
// without files, and needs nothing that a process must begin with. It spares a process that loads the same client and asks the same server.
bool may_go_on(const Point& point);

// A run's workers: processes, and the user's interrupts.
class ProcessHost final : public WorkerHost {
 public:
  explicit ProcessHost(Interrupts& interrupts) : interrupts_(interrupts) {}
  // Keeps a child for the first Point that may_go_on(); null: there is none.
  void keep(std::unique_ptr<ChildProcess> looked) { looked_ = std::move(looked); }
  std::unique_ptr<WorkerLink> start(const Point& point) override;
  Nanoseconds now() override;
  bool wait(std::span<WorkerLink* const> links, Nanoseconds deadline) override;
  int interrupts() const override { return interrupts_.count(); }
  std::string interrupt_words() const override { return interrupts_.words(); }

 private:
  Interrupts& interrupts_;
  std::unique_ptr<ChildProcess> looked_;
};

}  // namespace deepgap
