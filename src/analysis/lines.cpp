#include "analysis/lines.h"

#include "base/text.h"
#include "record/duel_set.h"
#include "record/load_axis.h"
#include "record/point_option.h"
#include "record/record_json.h"
#include "record/search_marks.h"
#include "record/tenant_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace deepgap {
namespace {

constexpr const char* separator = " \u00b7 ";

std::string threads_text(const Point& point) { return std::to_string(point.threads) + (point.threads == 1 ? " thread" : " threads"); }

// How devices are named: a GPU by its model, with its index where the model alone does not tell; the CPU is "cpu" as long as there is one.
class DeviceNames {
 public:
  explicit DeviceNames(std::span<const PointSummary> points) {
    for (const PointSummary& point : points) {
      const std::string& device = point.identity.device;
      if (device.empty()) continue;
      placements_[device].insert(placement_name(point.point.placement));
      if (is_cpu(point.point)) cpus_.insert(device);
    }
  }
  std::string of(const PointSummary& point) const {
    std::string placement = placement_name(point.point.placement);
    const auto placements = placements_.find(point.identity.device);
    if (placements == placements_.end() || (is_cpu(point.point) && cpus_.size() < 2)) return placement;
    const std::string name = short_device_name(point.identity.device);
    return placements->second.size() > 1 ? name + " " + placement : name;
  }

 private:
  static bool is_cpu(const Point& point) {
    const auto& devices = point.placement.devices;
    return std::all_of(devices.begin(), devices.end(), [](const DeviceId& device) { return device.kind == "cpu"; });
  }
  std::map<std::string, std::set<std::string>> placements_;
  std::set<std::string> cpus_;
};

// What may tell two Lines apart, by name, as a label shows it.
std::map<std::string, std::string> aspects(const PointSummary& summary, const DeviceNames& names) {
  const Point& point = summary.point;
  std::map<std::string, std::string> aspects{
      {"1 device", names.of(summary)}, {"2 precision", std::string(name_of(point.precision))},
      {"3 scenario", point.scenario},  {"4 threads", threads_text(point)},
      {"6 tenant", summary.tenant},    {"7 rank", summary.rank == 0 ? "" : "rank " + std::to_string(summary.rank)}};
  for (const auto& [name, value] : point.options) aspects["5 " + name] = name + "=" + value;
  return aspects;
}

using Values = std::map<std::string, std::set<std::string>>;

// Aspects that have more than one value (absence is one) within some group of Points.
template <typename Key>
std::set<std::string> varying(const std::map<Key, std::vector<const PointSummary*>>& groups, const DeviceNames& devices) {
  std::set<std::string> names;
  for (const auto& [key, members] : groups) {
    Values values;
    std::map<std::string, size_t> present;
    for (const PointSummary* member : members) {
      for (const auto& [name, value] : aspects(*member, devices)) {
        values[name].insert(value);
        ++present[name];
      }
    }
    for (const auto& [name, distinct] : values) {
      if (distinct.size() > 1 || present[name] < members.size()) names.insert(name);
    }
  }
  return names;
}

bool is_option(const std::string& aspect) { return aspect.starts_with("5 "); }

// What labels need: an option only where it differs among the Lines of one backend, since they begin with the backend's name.
std::set<std::string> telling_aspects(const std::map<WorkloadKey, std::vector<const PointSummary*>>& groups, const DeviceNames& devices) {
  std::map<std::pair<WorkloadKey, std::string>, std::vector<const PointSummary*>> by_backend;
  for (const auto& [key, members] : groups) {
    for (const PointSummary* member : members) by_backend[{key, member->point.backend}].push_back(member);
  }
  std::set<std::string> names = varying(by_backend, devices);
  for (const std::string& name : varying(groups, devices)) {
    if (!is_option(name)) names.insert(name);
  }
  return names;
}

std::string line_label(const PointSummary& point, const std::set<std::string>& shown, const DeviceNames& devices) {
  std::string label = point.point.backend;
  for (const auto& [name, value] : aspects(point, devices)) {
    if (shown.count(name) != 0 && !value.empty()) label += separator + value;
  }
  return label;
}

std::string workload_label(const Point& point, const std::map<std::string, std::set<WorkloadKey>>& by_model) {
  std::string label = point.task == "infer" ? point.model : point.task + " " + point.model;
  const auto& same = by_model.at(point.model);
  if (same.size() == 1) return label;
  // Only what sets the workloads of one model apart.
  std::set<std::string> weights, datasets;
  for (const WorkloadKey& one : same) {
    weights.insert(one.weights);
    datasets.insert(one.dataset);
  }
  if (weights.size() > 1) label += separator + point.weights + " weights";
  if (datasets.size() > 1) label += separator + point.dataset;
  return label;
}

Point line_key(Point point) {
  point.batch = 0;
  return point;
}

}  // namespace

const PointSummary* Line::peak() const {
  const PointSummary* best = nullptr;
  if (is_candidate()) return best;
  for (const PointSummary* point : points) {
    const MetricSummary* throughput = point->usable() ? point->find("throughput") : nullptr;
    if (throughput == nullptr) continue;
    if (best == nullptr || throughput->estimate.value > best->find("throughput")->estimate.value) best = point;
  }
  return best;
}

const PointSummary* Line::at_batch(int64_t batch) const {
  if (is_candidate()) return nullptr;
  for (const PointSummary* point : points) {
    if (point->point.batch == batch && point->usable()) return point;
  }
  return nullptr;
}

std::vector<Workload> arrange(std::span<const PointSummary> points) {
  std::map<WorkloadKey, std::vector<const PointSummary*>> groups;
  std::map<std::string, std::set<WorkloadKey>> by_model;
  for (const PointSummary& point : points) {
    if (tenant_place(point.point) || contender_place(point.point)) continue;
    groups[workload_key(point.point)].push_back(&point);
    by_model[point.point.model].insert(workload_key(point.point));
  }
  const DeviceNames devices(points);
  const auto shown = telling_aspects(groups, devices);
  std::vector<Workload> workloads;
  for (const auto& [key, members] : groups) {
    Workload& workload = workloads.emplace_back(Workload{members[0]->point, workload_label(members[0]->point, by_model), {}});
    std::map<std::tuple<PointOnDevice, std::string, int>, Line> lines;
    for (const PointSummary* member : members) {
      const PointOnDevice way{line_key(member->point), member->identity.device};
      Line& line = lines[{{without_paths(way.point), way.device}, member->tenant, member->rank}];
      if (line.points.empty()) line = {way.point, way.device, line_label(*member, shown, devices), devices.of(*member), {}};
      line.points.push_back(member);
    }
    for (auto& [line_id, line] : lines) {
      std::stable_sort(line.points.begin(), line.points.end(),
                       [](const auto* a, const auto* b) { return a->point.batch < b->point.batch; });
      workload.lines.push_back(std::move(line));
    }
    std::stable_sort(workload.lines.begin(), workload.lines.end(), [](const Line& a, const Line& b) { return a.label < b.label; });
  }
  return workloads;
}

std::string label_without(const Line& line, const std::string& aspect) {
  std::string label = line.label;
  const size_t at = label.find(separator + aspect);
  if (at != std::string::npos) label.erase(at, (separator + aspect).size());
  return label;
}

std::string label_without_threads(const Line& line) { return label_without(line, threads_text(line.key)); }

std::string label_without_device(const Line& line) { return label_without(line, line.device_label); }

std::string label_without_load(const Line& line) {
  Line shown = line;
  std::vector<std::string> names(search_marks.begin(), search_marks.end());
  if (const auto axis = load_axis(line.key.scenario)) names.push_back(axis->name);
  for (const std::string& name : names) {
    const std::string value = option_of(line.key, name);
    if (!value.empty()) shown.label = label_without(shown, name + "=" + value);
  }
  return shown.label;
}

std::vector<std::string> labels_apart(const std::vector<std::string>& labels) {
  const auto parts_of = [](const std::string& label) {
    std::vector<std::string> parts;
    size_t from = 0;
    for (size_t at = label.find(separator); at != std::string::npos; at = label.find(separator, from)) {
      parts.push_back(label.substr(from, at - from));
      from = at + std::string_view(separator).size();
    }
    parts.push_back(label.substr(from));
    return parts;
  };
  std::vector<std::vector<std::string>> all;
  for (const std::string& label : labels) all.push_back(parts_of(label));
  const auto in_all = [&](const std::string& part) {
    return std::all_of(all.begin(), all.end(), [&](const auto& parts) { return std::count(parts.begin(), parts.end(), part) > 0; });
  };
  std::vector<std::string> told;
  for (size_t i = 0; i < labels.size(); ++i) {
    std::vector<std::string> own = all[i];
    std::erase_if(own, in_all);
    told.push_back(labels.size() == 1 || own.empty() ? labels[i] : join(own, separator));
  }
  return told;
}

std::string batch_words(const Point& point) { return point.batch > 0 ? fmt::format("batch {}", point.batch) : "no batch told"; }

std::string label_with_batch(const Line& line, const PointSummary& point) { return line.label + separator + batch_words(point.point); }

std::string point_label(const PointSummary& summary) {
  const Point& point = summary.point;
  std::string label = point.model + separator + point.backend;
  const std::string place = placement_name(point.placement);
  if (place != "cpu") label += separator + (summary.identity.device.empty() ? place : short_device_name(summary.identity.device));
  if (point.precision != Precision::fp32) label += separator + std::string(name_of(point.precision));
  return label + separator + batch_words(point);
}

}  // namespace deepgap
