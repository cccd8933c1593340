#include "cli/run_flags.h"

#include "base/console.h"
#include "base/file.h"
#include "base/messages.h"
#include "base/text.h"
#include "cli/libtorch_folder.h"
#include "cli/lock_settings.h"
#include "cli/timings_output.h"
#include "cli/written_paths.h"
#include "record/point_command.h"
#include "telemetry/environment.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace deepgap {

void RunFlags::declare(CLI::App& app, const std::string& group) {
  app.add_option("-o,--store", store_, "Write or append records to FILE")->group(group)->type_name("FILE")->capture_default_str();
  app.add_flag("--resume", resume_, "Leave out what the store already has")->group(group);
  app.add_option("--busy", busy_, "Choice while another run uses a device: wait, refuse, or share the device")
      ->group(group)
      ->type_name("wait|refuse|share")
      ->capture_default_str();
  app.add_option("--timeout", timeout_, "Stop a worker that makes no progress for this long")
      ->group(group)
      ->type_name("TIME")
      ->capture_default_str();
  app.add_option("--cache", cache_, "Keep references, weights, quantized models and GPU kernels in this folder [default: ~/.cache/deepgap]")
      ->group(group)
      ->type_name("DIR");
  app.add_option("--export-json", json_file_, "Write the summary as JSON to FILE")->group(group)->type_name("FILE");
  app.add_option("--export-timings", timings_file_, "Write a row for each timed query to FILE: .csv, or .json for a JSON array")
      ->group(group)
      ->type_name("FILE");
  app.add_option("--progress", progress_, "Progress on standard error: text, or json (one object per line, for other programs)")
      ->group(group)
      ->type_name("text|json")
      ->capture_default_str();
  app.add_flag("-q,--quiet", quiet_, "Print only results and errors")->group(group);
  app.add_flag("-v,--verbose", verbose_, "Print where the time of each run went, and the last output of failed workers")->group(group);
  declare_libtorch_folder(app);
}

RunSettings RunFlags::settings() const {
  RunSettings settings;
  settings.store_path = store_;
  settings.cache_dir = std::filesystem::absolute(cache_.empty() ? default_cache_dir() : cache_).string();
  settings.timeout = std::chrono::nanoseconds(duration_flag("--timeout", timeout_));
  if (settings.timeout < std::chrono::seconds(1))
    throw Error(ErrorKind::usage, invalid_value(timeout_, "--timeout", "a time of at least 1s, such as 2m"));
  settings.cpus = static_cast<int>(allowed_cpus().size());
  settings.locks = lock_settings(when_busy_from(busy_));
  settings.resume = resume_;
  if (json_file_) require_folder_of("--export-json", *json_file_);
  if (timings_file_) require_folder_of("--export-timings", *timings_file_);
  if (progress_ != "text" && progress_ != "json")
    throw Error(ErrorKind::usage, fmt::format("invalid value '{}' for --progress: expected text or json", progress_));
  settings.words = progress_ == "json" ? Words::json : quiet_ ? Words::few : verbose_ ? Words::many : Words::usual;
  return settings;
}

void RunFlags::keep_json(const std::string& text) const {
  if (json_file_) write_file_atomic(*json_file_, text);
}

void RunFlags::keep_timings(const RunReport& report, const RunSettings& settings) const {
  if (!timings_file_ || report.saved == 0) return;
  const TimingsOf of{.stores = {settings.store_path}, .selection = Selection(), .run_id = report.run_id};
  write_timings(of, std::filesystem::path(*timings_file_).extension() == ".json", *timings_file_);
}

int64_t duration_flag(const std::string& flag, const std::string& text) {
  const auto value = parse_duration(text);
  if (!value) {
    const std::string meant = parse_double(text).value_or(0) > 0 ? fmt::format("; did you mean {}s?", text) : "";
    throw Error(ErrorKind::usage, invalid_value(text, flag, "a time such as 500ms, 8s or 2m") + meant);
  }
  return *value;
}

int64_t positive_duration_flag(const std::string& flag, const std::string& text, const std::string& example) {
  const int64_t value = duration_flag(flag, text);
  if (value == 0) throw Error(ErrorKind::usage, invalid_value(text, flag, "a time above 0, such as " + example));
  return value;
}

void print_ending(const RunReport& report, const RunSettings& settings, bool json) {
  const std::string saved = saved_text(report.saved + report.done_before, report.jobs, settings.store_path);
  if (!report.store_error.empty()) {
    say(stderr, fmt::format("deepgap: {}; {} of {} records were saved before\n", report.store_error, report.saved + report.done_before,
                            report.jobs));
  } else if (report.interrupted) {
    const bool any_left = report.open_ended || report.saved + report.done_before < report.jobs;
    say(stderr, fmt::format("deepgap: interrupted; {}{}\n", saved, any_left ? "; the same command with --resume continues" : ""));
  } else if (!json) {
    const bool any =
        std::any_of(report.points.begin(), report.points.end(), [](const auto& point) { return point.outcome == Outcome::ok; });
    print_text(fmt::format("{}{}\n", saved, any ? "; next: deepgap report " + shell_quoted(settings.store_path) : ""));
  }
}

}  // namespace deepgap
