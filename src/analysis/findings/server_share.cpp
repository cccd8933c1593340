// MLPerf's question: what share of Offline's throughput the same system keeps as a server within its bound.
#include "analysis/finding.h"
#include "analysis/words.h"
#include "record/load_axis.h"
#include "record/point_option.h"
#include "record/search_marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace deepgap {
namespace {

struct Pair {
  const PointSummary *offline = nullptr, *server = nullptr;
};

double throughput(const PointSummary& point) { return point.find("throughput")->estimate.value; }

// Ranks a point that a search confirmed before one that it saw once.
std::pair<bool, double> rank(const PointSummary& point) { return {option_of(point.point, "peak") == "confirm", throughput(point)}; }

// Returns what Offline and Server of one system share: not what only one of the two scenarios takes.
PointOnDevice system_of(const PointSummary& point) {
  PointOnDevice key{without_search_marks(without_load(point.point)), point.identity.device};
  key.point.scenario.clear();
  key.point.batch = 0;
  for (const char* own : {"bound", "rate", "max_delay"}) key.point.options.erase(own);
  return key;
}

std::map<PointOnDevice, Pair> pairs_of(const Workload& workload) {
  std::map<PointOnDevice, Pair> pairs;
  for (const Line& line : workload.lines) {
    for (const PointSummary* point : line.points) {
      const bool server = point->point.scenario == "server";
      if (!point->usable() || !is_sound(point->verdict) || point->find("throughput") == nullptr) continue;
      if (!server && point->point.scenario != "offline") continue;
      Pair& pair = pairs[system_of(*point)];
      const PointSummary*& kept = server ? pair.server : pair.offline;
      if (kept != nullptr && rank(*kept) >= rank(*point)) continue;
      kept = point;
    }
  }
  std::erase_if(pairs, [](const auto& each) { return each.second.server == nullptr || each.second.offline == nullptr; });
  return pairs;
}

std::string each_device(const PointSummary& point) {
  return format_significant(throughput(point) / static_cast<double>(point.point.placement.devices.size()), 4);
}

Statement server_share_statement(const Workload& workload, const std::map<PointOnDevice, Pair>& pairs) {
  Statement said;
  std::vector<std::string> systems;
  double least = 1e300, most = 0;
  for (const auto& [key, pair] : pairs) {
    const double share = throughput(*pair.server) / throughput(*pair.offline);
    least = std::min(least, share);
    most = std::max(most, share);
    const auto count = pair.offline->point.placement.devices.size();
    std::string name = short_device_name(pair.offline->identity.device);
    if (name.empty()) name = pair.offline->point.backend;
    if (count > 1) name = fmt::format("{} x {}", count, name);
    if (const auto round = key.point.options.find("round"); round != key.point.options.end()) name += " " + round->second;
    if (const auto who = key.point.options.find("submitter"); who != key.point.options.end()) name += " " + who->second;
    systems.push_back(fmt::format("{} {} ({} of {} for each device)", name, format_percent(share), each_device(*pair.server),
                                  each_device(*pair.offline)));
    said.points.push_back(pair.server);
    said.points.push_back(pair.offline);
  }
  const std::string range = format_percent(least) == format_percent(most)
                                ? format_percent(most)
                                : fmt::format("{} to {}", format_percent(least), format_percent(most));
  said.headline = fmt::format("{}: the server scenario reaches {} of the offline throughput", workload.label, range);
  said.detail = list_of(systems, 16) + ".";
  return said;
}

std::vector<Statement> find_server_share(const Evidence& evidence) {
  std::vector<Statement> statements;
  for (const Workload& workload : evidence.workloads) {
    const auto pairs = pairs_of(workload);
    if (!pairs.empty()) statements.push_back(server_share_statement(workload, pairs));
  }
  return statements;
}

const bool registered = register_finding({"server_share", 8, find_server_share,
                                          "The highest valid throughput of scenario server over that of offline on the same system, and "
                                          "both for each device, as MLPerf normalises."});

}  // namespace
}  // namespace deepgap
