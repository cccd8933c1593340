// Small files of /proc and /sys below an injectable root, so that tests play absent and broken sources. No function here throws: what
// cannot be read is an answer with its reason. Thread-safe.
#pragma once

#include <deepgap/record.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

// A value or why there is none, as it will stand in a Record.
struct Reading {
  std::optional<std::string> text;
  std::string reason;  // "no /sys/...", "cannot read /proc/...: Permission denied"; empty with a text

  Fact fact() const;  // the trimmed text, or "not available: reason"
};
Fact not_available(std::string_view reason);

class SystemRoot {
 public:
  explicit SystemRoot(std::string root) : root_(std::move(root)) {}
  bool is_real() const { return root_ == "/" || root_.empty(); }
  Reading read(const std::string& path) const;      // "/proc/stat"
  std::string text(const std::string& path) const;  // trimmed; empty when it cannot be read
  std::optional<int64_t> integer(const std::string& path) const;
  std::string resolve(const std::string& path) const;              // the path of the real file
  std::vector<std::string> list(const std::string& folder) const;  // names, sorted; empty when there is none

 private:
  std::string root_;
};

// Returns the value of the line "key:   value" or "key value"; empty when there is none.
std::string value_of_key(std::string_view text, std::string_view key);
// Parses a list such as "0-3,8,10-11"; nullopt for anything else, such as numbers beyond 65535.
std::optional<std::vector<int>> parse_cpu_list(std::string_view text);

}  // namespace deepgap
