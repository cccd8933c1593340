// WorkerLink and WorkerHost: what the parent of a run needs from its workers. A run uses processes (child_process.h), tests use scripts
// with a virtual clock. Main thread only.
#pragma once

#include "base/subprocess.h"
#include "worker/protocol.h"

#include <deepgap/clock.h>
#include <deepgap/point.h>

#include <memory>
#include <optional>
#include <span>
#include <string>

namespace deepgap {

// One worker; it ends with its link.
class WorkerLink {
 public:
  virtual ~WorkerLink() = default;
  virtual bool send(const Frame& frame) = 0;  // false: it is gone
  // A whole frame that has come. Never waits. Throws Error{internal} on bytes that are no frame.
  virtual std::optional<Frame> take() = 0;
  virtual bool ended() const = 0;  // nothing will come any more
  virtual void send_signal(int number) = 0;
  virtual ExitState exit_state() = 0;     // state of a worker that has ended, or was killed
  virtual std::string output_tail() = 0;  // the end of what it has printed
};

class WorkerHost {
 public:
  virtual ~WorkerHost() = default;
  virtual std::unique_ptr<WorkerLink> start(const Point& point) = 0;  // Error{internal}: the system has nothing to start it with
  virtual Nanoseconds now() = 0;                                      // as the workers' Clocks have it
  // Waits until one of `links`, which are of this host, may have something to take() or has ended, `deadline`, or an interrupt. True: an
  // interrupt has come since the last one that was reported.
  virtual bool wait(std::span<WorkerLink* const> links, Nanoseconds deadline) = 0;
  virtual int interrupts() const = 0;                                                // so far
  virtual std::string interrupt_words() const { return "interrupted by the user"; }  // for the last one
};

}  // namespace deepgap
