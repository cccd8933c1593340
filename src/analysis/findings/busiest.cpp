// A GPU that is busiest is not always fastest: utilisation as a rule of choice, judged by throughput.
#include "analysis/finding.h"
#include "analysis/words.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

constexpr const char* metric = "gpu_utilization";

double busy(const PointSummary& point) { return point.find(metric)->estimate.value; }

const PointSummary* busiest_of(const Line& line) {
  const PointSummary* busiest = nullptr;
  for (const PointSummary* point : line.points) {
    if (!point->usable() || point->find(metric) == nullptr || point->find("throughput") == nullptr) continue;
    if (busiest == nullptr || busy(*point) > busy(*busiest)) busiest = point;
  }
  return busiest;
}

std::vector<Statement> find_busiest(const Evidence& evidence) {
  constexpr double apart = 0.05, slower = 0.95;
  std::vector<Statement> statements;
  for (const Workload& workload : evidence.workloads) {
    for (const Line& line : workload.lines) {
      const PointSummary *fastest = line.peak(), *busiest = busiest_of(line);
      if (fastest == nullptr || busiest == nullptr || fastest->find(metric) == nullptr) continue;
      const double of_fastest = fastest->find("throughput")->estimate.value, of_busiest = busiest->find("throughput")->estimate.value;
      if (busy(*busiest) - busy(*fastest) < apart || of_busiest > slower * of_fastest) continue;
      statements.push_back({Tone::note,
                            fmt::format("{}, {}: the fastest batch does not keep the GPU busiest", workload.label, line.label),
                            fmt::format("Batch {} is fastest, {} items/s at {} utilisation; batch {} has {}, and {} items/s.",
                                        fastest->point.batch, format_significant(of_fastest, 4), format_percent(busy(*fastest)),
                                        busiest->point.batch, format_percent(busy(*busiest)), format_significant(of_busiest, 4)),
                            {fastest, busiest}});
    }
  }
  return statements;
}

const bool registered = register_finding(
    {"busiest", 66, find_busiest,
     "Lines whose fastest point keeps the GPU less busy (by more than 5 % of the time) than another of their points, which is slower."});

}  // namespace
}  // namespace deepgap
