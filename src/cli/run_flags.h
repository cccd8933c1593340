// Flags that commands which make Records (run, tune) share: where these go, how workers are watched, and what is said at the end.
#pragma once

#include "run/run_study.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

namespace deepgap {

class RunFlags {
 public:
  // --store, --resume, --busy, --timeout, --cache, --progress, -q, -v, --export-json, --export-timings and that of the LibTorch folder, as
  // a group of this name.
  void declare(CLI::App& app, const std::string& group);
  // Throws Error{usage}.
  RunSettings settings() const;
  // Writes into the file that --export-json names, if it is given.
  void keep_json(const std::string& text) const;
  // The timed queries of this run into the file that --export-timings names, where it is given.
  void keep_timings(const RunReport& report, const RunSettings& settings) const;

 private:
  std::string store_ = "deepgap.db", timeout_ = "60s", cache_, busy_ = "wait", progress_ = "text";
  std::optional<std::string> json_file_, timings_file_;
  bool resume_ = false, quiet_ = false, verbose_ = false;
};

// "500ms" as nanoseconds; throws Error{usage} that names the flag.
int64_t duration_flag(const std::string& flag, const std::string& text);
// Throws for 0 as well; `example` is a time that makes sense there.
int64_t positive_duration_flag(const std::string& flag, const std::string& text, const std::string& example);

// Prints how many Records are where, and how to go on; nothing on stdout if that is JSON.
void print_ending(const RunReport& report, const RunSettings& settings, bool json);

}  // namespace deepgap
