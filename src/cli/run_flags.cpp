#include "cli/run_flags.h"

#include "base/console.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/libtorch_folder.h"
#include "cli/lock_settings.h"
#include "cli/written_paths.h"
#include "record/point_command.h"
#include "telemetry/environment.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <chrono>
#include <filesystem>

namespace deepgap {

void RunFlags::declare(CLI::App& app, const std::string& group) {
  app.add_option("-o,--store", store_, "Records go here; one that exists is appended to")
      ->group(group)
      ->type_name("FILE")
      ->capture_default_str();
  app.add_flag("--resume", resume_, "Leave out what the Store has a Record of")->group(group);
  app.add_option("--busy", busy_, "Where another run has a device: wait for its end, refuse, or share it with that run (docs/records.md)")
      ->group(group)
      ->type_name("wait|refuse|share")
      ->capture_default_str();
  app.add_option("--timeout", timeout_, "A worker that shows no progress for so long is killed")
      ->group(group)
      ->type_name("TIME")
      ->capture_default_str();
  app.add_option("--cache", cache_, "Folder of what is made once: references, weights, quantized models, kernels of a GPU")
      ->group(group)
      ->type_name("DIR");
  app.add_option("--export-json", json_file_, "Keep the summary as JSON in this file too")->group(group)->type_name("FILE");
  app.add_flag("-q,--quiet", quiet_, "No progress: the result and what went wrong alone")->group(group);
  app.add_flag("-v,--verbose", verbose_, "Also where the time of each run went, and the last words of workers that failed")->group(group);
  declare_libtorch_folder(app);
}

RunSettings RunFlags::settings() const {
  RunSettings settings;
  settings.store_path = store_;
  settings.cache_dir = std::filesystem::absolute(cache_.empty() ? default_cache_dir() : cache_).string();
  settings.timeout = std::chrono::nanoseconds(duration_flag("--timeout", timeout_));
  if (settings.timeout < std::chrono::seconds(1)) throw Error(ErrorKind::usage, "--timeout: at least 1s");
  settings.cpus = static_cast<int>(allowed_cpus().size());
  settings.locks = lock_settings(when_busy_from(busy_));
  settings.resume = resume_;
  if (json_file_) require_folder_of("--export-json", *json_file_);
  if (quiet_ && verbose_) throw Error(ErrorKind::usage, "--quiet and --verbose say the opposite: leave one of them out");
  settings.words = quiet_ ? Words::few : verbose_ ? Words::many : Words::usual;
  return settings;
}

void RunFlags::keep_json(const std::string& text) const {
  if (json_file_) write_file_atomic(*json_file_, text);
}

int64_t duration_flag(const std::string& flag, const std::string& text) {
  const auto value = parse_duration(text);
  if (!value) throw Error(ErrorKind::usage, fmt::format("{} '{}' is no time such as 500ms, 8s or 2m", flag, text));
  return *value;
}

void print_ending(const RunReport& report, const RunSettings& settings, bool json) {
  const std::string saved = fmt::format("{} of {} records are in {}", report.saved + report.done_before, report.jobs, settings.store_path);
  if (!report.store_error.empty()) {
    say(stderr, fmt::format("deepgap: {}; {} of {} records were saved before\n", report.store_error, report.saved + report.done_before,
                            report.jobs));
  } else if (report.interrupted) {
    const bool any_left = report.open_ended || report.saved + report.done_before < report.jobs;
    say(stderr, fmt::format("deepgap: interrupted; {}{}\n", saved, any_left ? "; the same command with --resume goes on" : ""));
  } else if (!json) {
    fmt::print("{}; next: deepgap report {}\n", saved, shell_quoted(settings.store_path));
  }
}

}  // namespace deepgap
