// `deepgap doctor`: what on this machine spoils measurements, worst first, and what to do. Advice is no failure: the exit code is 0.
#include "base/confine.h"
#include "base/dump_json.h"
#include "cli/backend_rows.h"
#include "cli/command.h"
#include "cli/gpus_child.h"
#include "run/device_locks.h"
#include "run/progress.h"
#include "telemetry/environment.h"
#include "worker/plugin.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace deepgap {
namespace {

using nlohmann::json;

constexpr size_t line_width = 80;

std::string_view name_of(Advice::Level level) {
  switch (level) {
    case Advice::Level::warning:
      return "warning";
    case Advice::Level::note:
      return "note";
    case Advice::Level::unknown:
      return "unknown";
    default:
      return "ok";
  }
}

// Words filled into lines of 80 columns, each line after `indent` spaces. A word that is longer stays whole: it may be a command.
void print_indented(std::string_view text, size_t indent) {
  size_t column = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (column > 0 && column + 1 + word.size() > line_width) {
      fmt::print("\n");
      column = 0;
    }
    fmt::print("{:{}}{}", "", column == 0 ? indent : 1, word);
    column += (column == 0 ? indent : 1) + word.size();
  }
  fmt::print("\n");
}

void print_advice(const Advice& advice) {
  fmt::print("{:<8} {}\n", name_of(advice.level), advice.subject);
  print_indented(advice.finding, 9);
  if (!advice.remedy.empty()) print_indented("-> " + advice.remedy, 9);
}

json advice_json(const std::vector<Advice>& advice) {
  json rows = json::array();
  for (const Advice& a : advice) {
    rows.push_back({{"level", name_of(a.level)}, {"subject", a.subject}, {"finding", a.finding}, {"remedy", a.remedy}});
  }
  return rows;
}

std::string summary_of(const std::vector<Advice>& advice) {
  const auto count = [&](Advice::Level level) {
    return std::count_if(advice.begin(), advice.end(), [level](const Advice& a) { return a.level == level; });
  };
  const auto warnings = count(Advice::Level::warning), notes = count(Advice::Level::note), unknown = count(Advice::Level::unknown);
  const std::string unseen = unknown == 0 ? "" : fmt::format(" {} of {} checks could not be made.", unknown, advice.size());
  if (warnings + notes == 0) return "Found nothing that disturbs measurements on this machine." + unseen;
  return fmt::format("{} warning{}, {} note{}. Results stay usable; expect wider intervals.{}", warnings, warnings == 1 ? "" : "s", notes,
                     notes == 1 ? "" : "s", unseen);
}

// Judges, beside measurements, whether files of others can be looked at safely (worker/reading.h).
Advice judge_walls(const Walls& walls) {
  const std::string subject = "reading files";
  if (walls.no_landlock.empty() && walls.no_seccomp.empty())
    return {Advice::Level::ok, subject,
            fmt::format("a separate process inspects files first, confined by Landlock (version {}) and a seccomp filter",
                        walls.landlock_version),
            ""};
  std::string finding;
  if (!walls.no_landlock.empty())
    finding = fmt::format("no Landlock: {}; a malicious file could make its reader write where you may", walls.no_landlock);
  if (!walls.no_seccomp.empty())
    finding += fmt::format("{}no seccomp: {}; the reader could reach the network", finding.empty() ? "" : "; ", walls.no_seccomp);
  return {Advice::Level::note, subject, finding, "inspect untrusted files on a kernel that has both, or in a container"};
}

// Reports who measures here now: it makes other measurements wrong, and also what the doctor sees.
std::vector<Advice> judge_runs(const std::vector<DeviceLockOwner>& holders) {
  std::vector<Advice> advice;
  for (const DeviceLockOwner& holder : holders)
    advice.push_back({Advice::Level::warning, "runs on " + holder.device, "in use by " + owner_words(holder),
                      "new runs wait for it to end (deepgap run --busy)"});
  if (advice.empty()) advice.push_back({Advice::Level::ok, "runs", "no deepgap run is using a device of this machine", ""});
  return advice;
}

// Engines whose plug-in is here and whose library is not. They disturb nothing. DEEPGAP_PIP_INSTALL is set by the launcher of the Python
// package, whose extras bring the libraries.
std::vector<Advice> judge_engines(const json& rows) {
  constexpr std::pair<const char*, const char*> extras[] = {
      {"onnxruntime", "onnxruntime"}, {"openvino", "openvino"}, {"libtorch", "torch"}, {"tensorflow", "tensorflow"}};
  const char* pip_install = std::getenv("DEEPGAP_PIP_INSTALL");
  std::vector<Advice> advice;
  for (const json& row : rows) {
    const auto name = row["name"].get<std::string>();
    const auto* extra = std::find_if(std::begin(extras), std::end(extras), [&](const auto& e) { return e.first == name; });
    if (row["available"].get<bool>() || extra == std::end(extras) || plugin_path(name).empty()) continue;
    const std::string remedy = pip_install == nullptr || *pip_install == '\0' ? "docs/reference/engines/index.md says how to get it"
                                                                              : fmt::format("{} 'deepgap[{}]'", pip_install, extra->second);
    advice.push_back({Advice::Level::ok, "engine " + name, "not available: " + row["reason"].get<std::string>(), remedy});
  }
  return advice;
}

class DoctorCommand final : public Command {
 public:
  void declare(CLI::App& app) override { app.add_flag("--json", json_, "Print JSON"); }
  int run() override {
    std::vector<Advice> advice = examine_machine(capture_environment());
    for (Advice& of_gpu : examine_gpus(ask_for_gpus())) advice.push_back(std::move(of_gpu));
    for (Advice& of_run : judge_runs(device_lock_owners(lock_folder()))) advice.push_back(std::move(of_run));
    advice.push_back(judge_walls(walls_of_this_kernel()));
    for (Advice& of_engine : judge_engines(backend_rows())) advice.push_back(std::move(of_engine));
    std::stable_sort(advice.begin(), advice.end(), [](const Advice& a, const Advice& b) { return a.level > b.level; });
    if (json_) {
      fmt::print("{}", dump_indented(advice_json(advice)));
      return exit_ok;
    }
    for (const Advice& a : advice) print_advice(a);
    print_wrapped("\n" + summary_of(advice) + "\n");
    return exit_ok;
  }

 private:
  bool json_ = false;
};

const bool registered = add_command<DoctorCommand>(
    {"doctor", {CommandGroup::explain, 3}, "Report what disturbs measurements on this machine, and what to do", "  deepgap doctor\n"});

}  // namespace
}  // namespace deepgap
