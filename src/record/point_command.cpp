#include "record/point_command.h"

#include "record/dataset_hash.h"
#include "record/record_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace deepgap {
namespace {

// Options that have a flag of their own.
const std::set<std::string> own_flags{"rate",      "clients",   "trace",     "bound",       "streams", "processes",
                                      "instances", "max_batch", "max_delay", "queue_limit", "shed",    "isa"};

}  // namespace

std::string shell_quoted(const std::string& text) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,:=/+%@";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string shown = "'";
  for (const char c : text) shown += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return shown + "'";
}

namespace {

// Several sizes of one option stand in the Point joined by '/', and are given one by one.
std::string option_flag(const std::string& name, const std::string& value) {
  if (name == "shape") {
    std::string flags = " --shape " + value;
    for (size_t at = flags.find('/'); at != std::string::npos; at = flags.find('/')) flags.replace(at, 1, " --shape ");
    return flags;
  }
  if (name == "input") return " --input " + shell_quoted(value);
  if (!own_flags.contains(name)) return " --axis " + shell_quoted(name + "=" + value);
  std::string flag = name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return fmt::format(" --{} {}", flag, shell_quoted(value));
}

}  // namespace

std::string run_command_of(const Point& point) {
  const Point usual;
  std::string command = "deepgap run --model " + shell_quoted(point.model);
  const auto add = [&](const char* flag, const std::string& value, const std::string& otherwise) {
    if (value != otherwise) command += fmt::format(" --{} {}", flag, shell_quoted(value));
  };
  add("task", std::string(name_of(point.task)), std::string(name_of(usual.task)));
  add("weights", point.weights, usual.weights);
  add("dataset", point.dataset, usual.dataset);
  add("backend", point.backend, "");
  add("device", placement_name(point.placement), placement_name(usual.placement));
  add("precision", std::string(name_of(point.precision)), std::string(name_of(usual.precision)));
  add("threads", std::to_string(point.threads), "");
  add("scenario", point.scenario, usual.scenario);
  add("batch", std::to_string(point.batch), "1");
  for (const auto& [name, value] : point.options) {
    if (name != dataset_hash_option) command += option_flag(name, value);
  }
  return command;
}

}  // namespace deepgap
