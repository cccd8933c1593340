// A trace: times of arrival in a text file, one a line, in seconds or whole nanoseconds, never going back. The first is the beginning, so
// that times of day can stand there as they were logged. Empty lines and what follows a '#' do not count.
#pragma once

#include "scenario/arrivals.h"

#include <fstream>
#include <string>

namespace deepgap {

enum class TraceUnit { s, ns };

// Reads as it is asked, in memory for one line. Throws Error{input} "FILE:LINE: what is wrong", from the constructor only where the file
// cannot be opened. Seconds are read as doubles: of a time of day (1.8e9 s) 240 ns are resolved; nanoseconds are exact.
class TraceArrivals final : public Arrivals {
 public:
  TraceArrivals(const std::string& path, TraceUnit unit);
  Nanoseconds next() override;

 private:
  bool read_line();
  Nanoseconds parse(std::string_view text) const;
  [[noreturn]] void fail(const std::string& what) const;

  std::string path_;
  TraceUnit unit_;
  std::ifstream file_;
  std::string line_;
  int64_t line_number_ = 0;
  bool begun_ = false;
  Nanoseconds first_ = 0, last_ = 0;
};

// Reads the whole file once, so that what is wrong in its last line is said before anything is measured. How many arrivals it has, at
// least 1. Throws Error{input}.
int64_t check_trace(const std::string& path, TraceUnit unit);

}  // namespace deepgap
