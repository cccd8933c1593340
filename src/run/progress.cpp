#include "run/progress.h"

#include "base/console.h"
#include "base/dump_json.h"
#include "base/quantity.h"
#include "base/text.h"
#include "base/words.h"
#include "record/dataset_hash.h"
#include "record/duel_set.h"
#include "record/fact_values.h"
#include "record/option_text.h"
#include "record/record_json.h"
#include "record/task_traits.h"
#include "record/verdict.h"
#include "run/run_summary.h"
#include "run/text_table.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace deepgap {
std::string point_label(const Point& point, bool with_threads) {
  std::string label = fmt::format("{} {} {} batch {}", point.model, point.backend, name_of(point.precision), point.batch);
  if (with_threads) label += fmt::format(" threads {}", point.threads);
  if (point.placement != Placement{}) label += " on " + placement_name(point.placement);
  if (point.scenario != Point{}.scenario) label += " " + point.scenario;
  for (const auto& [name, value] : without_dataset_hash(without_duel(point)).options) label += " " + option_text(name, value);
  if (const auto place = contender_place(point)) label += fmt::format(" arm {}/{}", place->number, place->count);
  return label;
}

namespace {

// Returns whether the file is the one that results are written to, as after 2>&1.
bool is_standard_output(std::FILE* out) {
  struct stat file = {}, results = {};
  return ::fstat(::fileno(out), &file) == 0 && ::fstat(STDOUT_FILENO, &results) == 0 && file.st_dev == results.st_dev &&
         file.st_ino == results.st_ino;
}

// Returns the half-width for the time per item, as a verdict states it: for a wide interval the two scales differ by far, since throughput
// is one over that time.
double relative_half_width(double throughput, double low, double high) { return (throughput / low - throughput / high) / 2; }

// One event for a program that reads the progress. In ASCII, so that each line is valid whatever a model's name holds.
void say_event(std::FILE* out, const nlohmann::json& event) { say(out, dump_ascii_line(event) + "\n"); }

nlohmann::json seconds_or_null(const TimeSpan& left) { return left.is_known() ? nlohmann::json(left.likely) : nlohmann::json(); }

}  // namespace

std::string result_text(const Record& record, bool with_reason) {
  const std::string reason = with_reason && !record.reason.empty() ? ": " + record.reason : "";
  if (record.outcome != Outcome::ok) return std::string(name_of(record.outcome)) + reason;
  std::string text;
  const WorkRate rate = work_rate(record.point);
  const auto throughput = record.estimates.find(rate.metric);
  if (throughput != record.estimates.end()) {
    const Estimate& estimate = throughput->second;
    text = fmt::format("{} {}", number_text(estimate.value), rate.unit);
    if (estimate.low && estimate.high && *estimate.low > 0)
      text += fmt::format(" ({})", plus_minus_text(relative_half_width(estimate.value, *estimate.low, *estimate.high)));
  }
  for (const auto& [metric, name] : task_traits(record.point.task).times) {
    const auto time = record.estimates.find(metric);
    if (time != record.estimates.end()) text += fmt::format(", {} {}", name, milliseconds_text(time->second.value));
  }
  if (!is_sound(record.verdict)) text += ", " + verdict_words(record.verdict) + reason;
  if (record.verdict == Verdict::as_found) text += ", no target";
  const bool reason_has_it = !is_sound(record.verdict) && reason.find("unchecked: ") != std::string::npos;
  if (record.unchecked && !reason_has_it) text += ", unchecked" + (is_sound(record.verdict) ? reason : "");
  std::vector<std::string> facts(noted_facts.begin(), noted_facts.end());
  facts.emplace_back("streams.note");
  for (const std::string& fact : facts) {
    if (const auto* words = fact_as<std::string>(record.facts, fact)) text += ", " + *words;
  }
  return text;
}

std::string detail_text(const Record& record) {
  std::vector<std::string> parts;
  if (record.load_s) parts.push_back(fmt::format("load {} s", short_text(*record.load_s, 2)));
  if (record.compile_s) parts.push_back(fmt::format("of which compiling {} s", short_text(*record.compile_s, 2)));
  for (const Window& window : record.windows) {
    if (window.name == "load" || window.name == "idle") continue;
    parts.push_back(fmt::format("{} {} s", window.name, short_text(static_cast<double>(window.end - window.begin) / 1e9, 2)));
  }
  const auto tell = [&](const char* fact, const char* before) {
    if (const auto* words = fact_as<std::string>(record.facts, fact)) parts.push_back(before + *words);
  };
  tell("stopping", "");
  if (record.unchecked) tell("check", "unchecked: ");
  std::string text = parts.empty() ? "" : "    " + join(parts, ", ");
  for (const std::string& line : split(trim(record.stderr_tail), '\n')) {
    if (!line.empty()) text += (text.empty() ? "    | " : "\n    | ") + line;
  }
  return text;
}

Progress::Progress(std::FILE* out, bool terminal, Words words)
    : out_(out),
      terminal_(terminal && words != Words::few && words != Words::json),
      beside_results_(terminal_ || (words != Words::json && is_standard_output(out))),
      words_(words) {}

void Progress::detail(const Record& record) {
  const std::string text = words_ == Words::many ? detail_text(record) : "";
  if (!text.empty()) note(text);
}

std::string saved_text(size_t saved, size_t jobs, const std::string& store) {
  return saved == 1 && jobs == 1 ? "1 record is in " + store : fmt::format("{} of {} records are in {}", saved, jobs, store);
}

size_t terminal_columns(std::FILE* out) {
  winsize size{};
  if (::isatty(::fileno(out)) != 1) return 0;
  return ::ioctl(::fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col < 20 ? 80 : size.ws_col;
}

void print_wrapped(const std::string& text) { print_text(wrapped_lines(text, terminal_columns(stdout))); }

void Progress::clear() {
  if (!live_) return;
  say(out_, "\r\x1b[K");
  live_ = false;
}

void Progress::begin(size_t jobs) {
  total_ = jobs;
  if (words_ == Words::json) say_event(out_, {{"event", "begin"}, {"total", jobs}});
}

void Progress::note(const std::string& line) {
  clear();
  if (words_ == Words::json) return say_event(out_, {{"event", "note"}, {"text", line}});
  const std::string text = printable_lines(line);
  if (words_ != Words::few) say(out_, (terminal_ ? wrapped_lines(text, terminal_columns(out_)) : text) + "\n");
}

void Progress::under_way(const std::string& label, const std::string& phase, const std::string& done, const TimeSpan& left) {
  const bool events = words_ == Words::json;
  if (!terminal_ && !events) return;
  const auto now = std::chrono::steady_clock::now();
  if ((live_ || events) && now - last_ < std::chrono::milliseconds(200)) return;
  last_ = now;
  if (events)
    return say_event(out_, {{"event", "phase"},
                            {"number", finished_ + 1},
                            {"total", total_},
                            {"point", label},
                            {"phase", phase},
                            {"done", done},
                            {"left_s", seconds_or_null(left)}});
  const std::string units = phase == "steady" || phase == "warm_up" ? " " + done : "";
  // The time first: a narrow terminal cuts the end.
  std::string line = fmt::format("[{}{}] {}: {}{}", place(finished_ + 1), left_text(left), label, phase, units);
  const size_t columns = terminal_columns(out_), width = (columns == 0 ? 80 : columns) - 1;
  if (line.size() > width) line.resize(width);
  say(out_, "\r\x1b[K" + printable(line));
  live_ = true;
}

std::string Progress::place(size_t number) const {
  return total_ == 0 ? std::to_string(number) : fmt::format("{}/{}", std::min(number, total_), total_);
}

void Progress::finished(const std::string& label, const std::string& result, const TimeSpan& left) {
  ++finished_;
  if (words_ == Words::json)
    return say_event(out_, {{"event", "record"},
                            {"number", finished_},
                            {"total", total_},
                            {"point", label},
                            {"result", result},
                            {"left_s", seconds_or_null(left)}});
  const std::string words = terminal_ ? "" : left_text(left);  // a terminal has it in the live line
  note(fmt::format("[{}] {}: {}{}", place(finished_), label, result, words));
}

}  // namespace deepgap
