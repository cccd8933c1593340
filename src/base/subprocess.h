// Subprocess: a child program under supervision. The parent of a run starts its workers with it.
//
// The child dies with its parent (the thread that started it: start children from the main thread), is in a process group of its own, so
// that Ctrl-C on the terminal reaches the parent alone, and inherits no descriptor but 0 to 2 and, where asked for, its end of the
// channel as descriptor 3. Its stdin is empty; stdout and stderr come to the parent, which keeps their end.
// Not thread-safe. No call here waits longer than its limit.
#pragma once

#include "base/file.h"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

inline constexpr int channel_descriptor = 3;  // in the child

struct SubprocessOptions {
  std::string program;                             // a path: $PATH is not searched
  std::vector<std::string> arguments;              // argv, with [0]
  std::map<std::string, std::string> environment;  // on top of ours
  bool channel = false;                            // a socket between both
  std::optional<uint64_t> data_bytes;              // RLIMIT_DATA: memory, not address space, of which CUDA reserves terabytes
  std::optional<uint64_t> cpu_seconds;             // RLIMIT_CPU: SIGXCPU, then SIGKILL a second later
  bool limits_are_lifted = false;                  // by lift_limits() later: until then the child could do it, too
  size_t output_tail_bytes = 8192;                 // stdout and stderr together
};

struct ExitState {
  int code = 0;
  int signal = 0;  // 0: ended by itself
  bool ok() const { return code == 0 && signal == 0; }
  std::string describe() const;  // "exit code 3", "killed by SIGSEGV"
};

class Subprocess {
 public:
  explicit Subprocess(const SubprocessOptions& options);  // Error{internal}: the system's reason why it did not start
  ~Subprocess();                                          // kills and reaps
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  pid_t pid() const { return pid_; }
  int channel() const { return channel_.get(); }           // ours, blocking; -1 without
  int output_descriptor() const { return output_.get(); }  // -1 once at its end

  // Takes what the child has printed so far. Never blocks; false once its output is at the end.
  bool drain_output();
  // The end of stdout and stderr, from the start of a line where older text was dropped.
  std::string output_tail() const;

  void lift_limits();            // removes the limits of memory and CPU: this process's own hold
  void send_signal(int number);  // nothing when it has ended already
  std::optional<ExitState> poll_exit();
  // Returns nullopt if it still runs after `timeout`. Drains the output meanwhile, so that the child cannot block on it.
  std::optional<ExitState> wait(std::chrono::milliseconds timeout);

 private:
  pid_t pid_ = -1;
  FileDescriptor channel_, output_;
  std::string tail_;
  bool tail_cut_ = false;
  size_t tail_limit_;
  std::optional<ExitState> exit_;
};

}  // namespace deepgap
