#include "analysis/device_ratios.h"

#include <algorithm>
#include <map>
#include <set>

namespace deepgap {
namespace {

constexpr const char* metric = "throughput";

using Lines = std::vector<const Line*>;
using ByPrecision = std::map<Precision, Lines>;
using ByDevice = std::map<std::string, ByPrecision>;

Point without_device(Point key) {
  key.precision = Precision::fp32;
  key.threads = 0;
  for (DeviceId& device : key.placement.devices) device = {"", device.kind == "cpu" ? "cpu" : "gpu", 0};
  return key;
}

std::map<Point, ByDevice> alike_but_device(const Workload& workload) {
  std::map<Point, ByDevice> groups;
  for (const Line& line : workload.lines) {
    if (!line.device.empty() && line.peak() != nullptr) groups[without_device(line.key)][line.device][line.key.precision].push_back(&line);
  }
  std::erase_if(groups, [](const auto& group) { return group.second.size() < 2; });
  return groups;
}

double throughput(const PointSummary& point) { return point.find(metric)->estimate.value; }

const PointSummary* faster(const PointSummary* a, const PointSummary* b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  return throughput(*a) >= throughput(*b) ? a : b;
}

const PointSummary* peak_of(const Lines& lines) {
  const PointSummary* best = nullptr;
  for (const Line* line : lines) best = faster(best, line->peak());
  return best;
}

const PointSummary* at_batch(const Lines& lines, int64_t batch) {
  const PointSummary* best = nullptr;
  for (const Line* line : lines) {
    const PointSummary* point = line->at_batch(batch);
    if (point != nullptr && point->find(metric) != nullptr) best = faster(best, point);
  }
  return best;
}

double peak_throughput(const ByPrecision& device) {
  double best = 0;
  for (const auto& [precision, lines] : device) best = std::max(best, throughput(*peak_of(lines)));
  return best;
}

void add_ratios(Precision precision, const Lines& first, const Lines& second, std::vector<DeviceRatio>& ratios) {
  const auto add = [&](int64_t batch, const PointSummary* a, const PointSummary* b) {
    const auto comparison = a == nullptr || b == nullptr ? std::nullopt : compare_points(*a, *b, metric);
    if (comparison) ratios.push_back({std::string(name_of(precision)), batch, a, b, *comparison});
    return comparison.has_value();
  };
  std::set<int64_t> batches;
  for (const Line* line : first) {
    for (const PointSummary* point : line->points) batches.insert(point->point.batch);
  }
  bool any = false;
  for (const int64_t batch : batches) any = add(batch, at_batch(first, batch), at_batch(second, batch)) || any;
  const PointSummary *best = peak_of(first), *other = peak_of(second);
  if (!any || best->point.batch != other->point.batch) add(0, best, other);
}

std::string label_of(const Line& line) {
  Line shown = line;
  shown.label = label_without_device(shown);
  shown.label = label_without(shown, std::string(name_of(line.key.precision)));
  return label_without_threads(shown);
}

}  // namespace

std::vector<DevicePair> device_pairs(const Workload& workload) {
  std::vector<DevicePair> pairs;
  for (const auto& [key, devices] : alike_but_device(workload)) {
    const auto slowest = std::min_element(
        devices.begin(), devices.end(), [](const auto& a, const auto& b) { return peak_throughput(a.second) < peak_throughput(b.second); });
    for (auto device = devices.begin(); device != devices.end(); ++device) {
      if (device == slowest) continue;
      DevicePair pair{label_of(*device->second.begin()->second.front()), device->first, slowest->first, {}};
      for (const auto& [precision, lines] : device->second) {
        const auto same = slowest->second.find(precision);
        if (same != slowest->second.end()) add_ratios(precision, lines, same->second, pair.ratios);
      }
      if (!pair.ratios.empty()) pairs.push_back(std::move(pair));
    }
  }
  return pairs;
}

}  // namespace deepgap
