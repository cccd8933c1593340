#include "mlperf/submission/runs.h"

#include "analysis/words.h"
#include "base/file.h"
#include "base/sha256.h"
#include "record/point_option.h"
#include "record/record_json.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <set>

namespace deepgap {
namespace {

std::optional<MlperfKind> kind_of(const Record& record) {
  const std::string mode = option_of(record.point, "mlperf_mode", "performance"), test = option_of(record.point, "mlperf_test", "none");
  if (mode == "accuracy") return MlperfKind::accuracy;
  if (mode != "performance") return std::nullopt;  // both phases share a log there: the checker wants two
  if (test == "TEST01") return MlperfKind::test01;
  if (test == "TEST04") return MlperfKind::test04;
  return MlperfKind::performance;
}

std::string scenario_name(const std::string& name) {
  const std::map<std::string, std::string> names{
      {"single-stream", "SingleStream"}, {"multi-stream", "MultiStream"}, {"server", "Server"}, {"offline", "Offline"}};
  const auto found = names.find(name);
  return found == names.end() ? "" : found->second;
}

}  // namespace

std::string name_of(MlperfKind kind) {
  switch (kind) {
    case MlperfKind::performance:
      return "performance";
    case MlperfKind::accuracy:
      return "accuracy";
    case MlperfKind::test01:
      return "TEST01";
    case MlperfKind::test04:
      return "TEST04";
  }
  return "";
}

void MlperfRuns::add(const Record& record) {
  const auto kind = kind_of(record);
  const std::string scenario = scenario_name(record.point.scenario);
  const bool usable = record.point.options.contains("mlperf") && record.facts.contains("mlperf.log") && record.outcome == Outcome::ok;
  if (!usable || !kind || scenario.empty()) return;
  const auto known = runs_.find({scenario, *kind});
  if (known != runs_.end() && known->second.verdict == Verdict::valid && record.verdict != Verdict::valid) return;
  runs_[{scenario, *kind}] = record;
}

std::string MlperfRuns::round() const {
  std::set<std::string> rounds;
  for (const auto& [key, record] : runs_) rounds.insert(option_of(record.point, "mlperf", ""));
  if (rounds.size() != 1)
    throw Error(ErrorKind::input,
                fmt::format("the store has MLPerf runs of several rounds, {}: one tree is of one round; keep each in a store of its own",
                            fmt::join(rounds, " and ")));
  return *rounds.begin();
}

void MlperfRuns::require_one_system() const {
  std::set<std::string> systems;
  for (const auto& [key, record] : runs_) {
    const Point& point = record.point;
    systems.insert(fmt::format("{} ({}) {} on {} with {}", point.model, point.weights, name_of(point.precision),
                               placement_name(point.placement), point.backend));
  }
  if (systems.size() == 1) return;
  throw Error(ErrorKind::input,
              fmt::format("the store has MLPerf runs of {} systems, {}: one tree is of one; keep each in a store of its own",
                          systems.size(), fmt::join(systems, " and ")));
}

void MlperfRuns::require_own_logs() const {
  for (const auto& [key, record] : runs_) {
    const std::string path = mlperf_fact(record, "mlperf.log") + "/mlperf_log_detail.txt";
    if (sha256(read_text(path, mlperf_log_limit)) == mlperf_fact(record, "mlperf.log_sha256")) continue;
    throw Error(ErrorKind::input, fmt::format("{} is not the log that the {} {} run wrote: measure it again with a folder of its own", path,
                                              key.first, name_of(key.second)));
  }
}

const Record* MlperfRuns::find(const std::string& scenario, MlperfKind kind) const {
  const auto found = runs_.find({scenario, kind});
  return found == runs_.end() ? nullptr : &found->second;
}

std::vector<std::string> MlperfRuns::scenarios() const {
  std::set<std::string> names;
  for (const auto& [key, record] : runs_) names.insert(key.first);
  return {names.begin(), names.end()};
}

std::string mlperf_fact(const Record& record, const std::string& key) {
  for (const Facts* facts : {&record.facts, &record.environment}) {
    const auto found = facts->find(key);
    if (found != facts->end()) return format_fact(found->second);
  }
  return "";
}

}  // namespace deepgap
