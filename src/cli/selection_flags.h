// The flags that say which Records of its Stores a command works on: the same for all that read a Store.
#pragma once

#include "cli/selection.h"

#include <CLI/CLI.hpp>

#include <map>
#include <string>
#include <vector>

namespace deepgap {

class SelectionFlags {
 public:
  // --model, --backend, --device, --precision, --batch, --scenario, --threads, --task, --study, --tag, --outcome, --verdict, --since,
  // --until and
  // --select, in a group of their own. One that the command has already stays as it is, and selects too.
  void declare(CLI::App& app);
  // Returns the selection; if no flag was given, every Record. Throws Error{usage}.
  Selection selection() const;
  // The first given one that declare() added; empty: none was.
  std::string given() const;

 private:
  CLI::Option* add(CLI::App& app, const std::string& flags, const std::string& key, const char* describe, const char* type);

  std::map<std::string, CLI::Option*> options_;              // by key
  std::map<std::string, std::vector<std::string>> texts_{};  // texts for options that are ours
};

// "2026-11-23", "2026-11-23T14:05", "2026-11-23 14:05:30", with or without Z: UTC, as nanoseconds since 1970. `end`: of the day, the minute
// or the second that is named, else its begin. Throws Error{usage} that names the flag.
int64_t time_flag(const std::string& flag, const std::string& text, bool end);

}  // namespace deepgap
