// Nodes that are slower than others of their kind, by what several of them measured.
#include "analysis/outlier_nodes.h"

#include "analysis/finding.h"
#include "record/duel_set.h"
#include "record/load_axis.h"
#include "record/tenant_set.h"

#include <fmt/format.h>

#include <map>

namespace deepgap {
namespace {

// Returns whether the Point's throughput shows how fast a node is, whatever else is measured there.
bool tells_speed(const PointSummary& point) {
  return point.nodes.size() > 1 && point.usable() && !point.identity.device.empty() && point.find("throughput") != nullptr &&
         scenario_traits(point.point.scenario).takes_all && !tenant_place(point.point) && !contender_place(point.point);
}

struct Kind {
  std::vector<NodeReading> readings;
  std::vector<const PointSummary*> points;
};

std::vector<Statement> find_outlier_nodes(const Evidence& evidence) {
  std::map<std::string, Kind> kinds;  // by device
  for (const PointSummary& point : evidence.results.points) {
    if (!tells_speed(point)) continue;
    Kind& kind = kinds[point.identity.device];
    kind.points.push_back(&point);
    for (const RepeatValue& repeat : point.find("throughput")->repeats) {
      const std::string& node = point.nodes.at(repeat.node);
      if (!node.empty()) kind.readings.push_back({point.point_id, node, repeat.value});
    }
  }
  std::vector<Statement> statements;
  for (const auto& [device, kind] : kinds) {
    for (const SlowNode& slow : slow_nodes(kind.readings)) {
      statements.push_back({Tone::warning, fmt::format("{}: {}", slow.node, words_of(slow)),
                            fmt::format("It has {}, as they have. Its records count in every value here.", device), kind.points});
    }
  }
  return statements;
}

const bool registered = register_finding({"outlier_nodes", 74, find_outlier_nodes,
                                          "Nodes that are slower than others with the same device, by more than these differ and than "
                                          "their own runs scatter. Uses points that several of them measured at full load and a "
                                          "generalised ESD test, 5 % over all nodes of a device. Their records stay in all values."});

}  // namespace
}  // namespace deepgap
