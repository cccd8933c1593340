// Commands that do nothing but read files and write what they made of them confine themselves (base/confine.h): the process lives for this
// alone, so it is its own reading child.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace deepgap {

struct ReaderLimits {
  std::string subject;  // begins the line that says which limit was broken
  uint64_t memory_bytes = uint64_t{8} << 30;
  uint64_t cpu_seconds = 60;
  uint64_t file_bytes = uint64_t{1} << 30;  // limit for each file that it writes
  std::vector<std::string> outputs;         // files or folders that it makes: it may write beside them and nowhere else
};

// Confines the process, for good, and then works. Throws Error{input} naming the limit where memory does not suffice; more time than the
// limit ends the process with such a line and exit code 2; a file that is too large is an error of whoever writes it. Under a sanitizer
// only the time is limited.
int work_confined(const ReaderLimits& limits, const std::function<int()>& work);

// Returns limits for commands over Stores, with the files that they make: SQLite's own, beside a Store, are allowed.
ReaderLimits limits_of_stores(const std::vector<std::string>& stores, const std::string& output);

}  // namespace deepgap
