// Reports what sets the pace of queries that begin with images in files: decoding or the network; what overlapping the two brings, and how
// far that is from the network alone.
#include "analysis/comparison.h"
#include "analysis/finding.h"
#include "analysis/words.h"
#include "record/point_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace deepgap {
namespace {

constexpr double busy = 0.85;  // share of its time: a stage that is this busy cannot do more

double value(const PointSummary& point, const std::string& metric) {
  const MetricSummary* found = point.find(metric);
  return found == nullptr ? 0 : found->estimate.value;
}

std::string mode_of(const PointSummary& point) { return option_of(point.point, "end_to_end", "off"); }

// Points that differ in these options and the batch alone.
PointOnDevice key_of(PointOnDevice key) {
  key.point.options.erase("end_to_end");
  key.point.options.erase("decode_threads");
  key.point.batch = 0;
  return key;
}

using Points = std::vector<const PointSummary*>;

std::map<PointOnDevice, Points> alike(const Workload& workload) {
  std::map<PointOnDevice, Points> groups;
  for (const Line& line : workload.lines) {
    for (const PointSummary* point : line.points) {
      if (point->usable() && point->find("throughput") != nullptr) groups[key_of(point->on_device())].push_back(point);
    }
  }
  return groups;
}

template <typename Wanted>
const PointSummary* fastest(const Points& points, Wanted wanted) {
  const PointSummary* best = nullptr;
  for (const PointSummary* point : points) {
    if (wanted(*point) && (best == nullptr || value(*point, "throughput") > value(*best, "throughput"))) best = point;
  }
  return best;
}

const PointSummary* same_batch(const Points& points, const PointSummary& best, const std::string& mode) {
  return fastest(points, [&](const PointSummary& point) { return point.point.batch == best.point.batch && mode_of(point) == mode; });
}

std::string label_of(const Workload& workload, const PointSummary& point) {
  const auto holds = [&](const Line& line) { return std::count(line.points.begin(), line.points.end(), &point) > 0; };
  return std::find_if(workload.lines.begin(), workload.lines.end(), holds)->label;
}

std::string shares(const PointSummary& serial) {
  return fmt::format("One stage after the other, a query spends {} of its time decoding, {} resizing and {} in the network. ",
                     format_percent(value(serial, "stage_decode_share")), format_percent(value(serial, "stage_preprocess_share")),
                     format_percent(value(serial, "stage_compute_share")));
}

std::string bound(const PointSummary& best, const PointSummary* alone) {
  const double threads = value(best, "decode_busy_share"), network = value(best, "marked_share");
  const std::string worked = fmt::format(
      "The threads that decode worked for {} of the window, the network for {}: ", format_percent(threads), format_percent(network));
  if (threads >= busy && network >= busy) return worked + "both are at their limit.";
  if (threads >= busy) return worked + "decoding sets the pace; more decode_threads help where there are CPUs for them.";
  const double alone_ms = alone == nullptr ? 0 : value(*alone, "compute_ms");
  const bool slowed = alone_ms > 0 && value(best, "compute_ms") > 1.1 * alone_ms;
  if (network >= busy) return worked + "the network sets the pace" + (slowed ? ", slower than alone: they share the CPUs." : ".");
  return worked + "neither is at its limit; more in flight (in_flight), or fewer threads where they share CPUs, may help.";
}

Statement end_to_end_statement(const Workload& workload, const PointSummary& best, const Points& points) {
  const PointSummary* serial = same_batch(points, best, "serial");
  const PointSummary* alone = same_batch(points, best, "off");
  const Estimate& pace = best.find("throughput")->estimate;
  Statement statement;
  statement.headline = fmt::format("{}, {}, batch {}: {} items/s end to end", workload.label, label_of(workload, best), best.point.batch,
                                   format_estimate(pace));
  statement.points = {&best};
  if (alone != nullptr) {
    statement.headline += fmt::format(", {} of the network alone", format_percent(pace.value / value(*alone, "throughput")));
    statement.detail = fmt::format("The network alone does {} items/s. ", format_estimate(alone->find("throughput")->estimate));
    statement.points.push_back(alone);
  }
  if (serial != nullptr) {
    statement.detail += shares(*serial);
    if (serial != &best) statement.points.push_back(serial);
  }
  if (mode_of(best) == "overlapped") {
    const auto gain = serial == nullptr ? std::nullopt : compare_points(best, *serial, "throughput");
    statement.effect = certain_effect(gain);
    if (gain) statement.detail += fmt::format("Overlapped, the throughput is {}. ", comparison_words(*gain, "serial"));
    statement.detail += bound(best, alone);
  }
  return statement;
}

std::vector<Statement> find_end_to_end(const Evidence& evidence) {
  std::vector<Statement> statements;
  for (const Workload& workload : evidence.workloads) {
    for (const auto& [key, points] : alike(workload)) {
      const PointSummary* best = fastest(points, [](const PointSummary& point) { return mode_of(point) != "off"; });
      if (best != nullptr) statements.push_back(end_to_end_statement(workload, *best, points));
    }
  }
  return statements;
}

const bool registered =
    register_finding({"end_to_end", 29, find_end_to_end,
                      "Points whose queries begin with image files: the fastest of those alike, and how its threads and the network used "
                      "the window. Beside it the same batch serially and with the network alone."});

}  // namespace
}  // namespace deepgap
