// HandIn: brings what an attempt has measured from the node's disk to the fleet's folder. One thread.
#pragma once

#include "fleet/fleet.h"

#include <chrono>
#include <string>

namespace deepgap {

// Copies a file so that it appears whole under its name and is on the disk. Throws Error{input} with the system's reason.
void copy_durably(const std::string& from, const std::string& to);

class HandIn {
 public:
  // `store` is the attempt's own, below the folder `work`, both on the node's disk.
  HandIn(const Fleet& fleet, Attempt& attempt, std::string work, std::string store);

  void tell();     // writes the attempt's present state; a failed write is tried again the next time
  void in_time();  // all that is new, where the last time is long enough ago; failures are kept for the next time
  void now();      // the same at once; throws what went wrong
  // All of the task, with what earlier attempts have handed in, instead of the parts.
  void whole();
  const std::string& failure() const { return failure_; }  // why the last hand-in failed; empty: it did not

 private:
  void timed(const std::string& from, const std::string& name);

  const Fleet& fleet_;
  Attempt& attempt_;
  std::string work_, store_, failure_;
  int64_t last_row_ = 0;
  int number_ = 0;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace deepgap
