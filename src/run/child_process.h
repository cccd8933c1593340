// ChildProcess: the parent's end of a child of this program that talks in frames: `deepgap COMMAND`, a worker or another hidden subcommand.
// Waits for a frame, its death, silence or Ctrl-C, whatever comes first; its output is taken meanwhile. Not thread-safe; the child is
// killed with this object.
#pragma once

#include "base/subprocess.h"
#include "run/interrupts.h"
#include "worker/protocol.h"

#include <chrono>
#include <map>
#include <optional>
#include <string>

namespace deepgap {

struct ChildLimits {
  std::optional<uint64_t> data_bytes, cpu_seconds;
};

class ChildProcess {
 public:
  enum class Event { frame, silence, ended, interrupted };

  explicit ChildProcess(const std::string& command, const std::map<std::string, std::string>& environment = {},
                        const ChildLimits& limits = {});
  // False: it is gone; wait() tells more.
  bool send(const Frame& frame);
  // `interrupted` only with `interrupts`, when one came since the last that was told. Throws Error{internal} on bytes that are no frame.
  Event wait(Frame& frame, std::chrono::steady_clock::time_point deadline, Interrupts* interrupts = nullptr);
  Subprocess& process() { return process_; }
  // After `ended`: how. Waits a moment for it.
  ExitState exit_state();

 private:
  bool take_bytes();  // false: the end of the channel

  Subprocess process_;
  FrameParser parser_;
  FrameWriter writer_;
  bool ended_ = false;
};

}  // namespace deepgap
