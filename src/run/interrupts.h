// Interrupts: Ctrl-C, SIGTERM and SIGHUP as something that can be waited for. The first asks the run to end in order, the second at once.
// One that is ignored when this begins, as nohup does with SIGHUP, stays so.
// One object at a time, in the main thread; handlers go back to what they were with it.
#pragma once

#include "base/file.h"

#include <signal.h>

#include <array>
#include <string>

namespace deepgap {

class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  int count() const;                                  // so far
  std::string words() const;                          // who sent the last: "interrupted by the user", "ended by SIGTERM"
  int descriptor() const { return read_end_.get(); }  // readable from the next interrupt on
  void clear_descriptor();                            // until it is readable again

 private:
  FileDescriptor read_end_, write_end_;
  std::array<struct sigaction, 3> before_{};
};

}  // namespace deepgap
