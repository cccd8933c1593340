// How deepgap reports what ends a command or a point.
//
// Throw Error where work cannot go on; return a value (std::optional, Support) where "no" is an expected answer; assert where only a
// bug can lead. Two places decide what it means: the worker's loop makes a Record of it, main() an exit code. Whoever else catches makes
// an Error of a library's exception, cleans up and throws on, or says what it does without. Visible, to be caught across plug-ins.
// The message is one line: what is wrong, where (file, key, flag, node), and what to do.
#pragma once

#include <stdexcept>
#include <string>

namespace deepgap {

enum class ErrorKind {
  usage,          // a flag, a key or a name the user wrote: exit code 2
  input,          // a file or its content: exit code 2 when found before timing
  refused,        // a backend does not do this: outcome `refused`
  out_of_memory,  // outcome `out_of_memory`
  device_lost,    // outcome `device_lost`: the process cannot be used any more
  store,          // the Store became unwritable: exit code 3
  internal,       // everything else: exit code 3, outcome `crashed`
};

class __attribute__((visibility("default"))) Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace deepgap
