#include "analysis/lines.h"

#include "analysis/aspects.h"
#include "analysis/point_labels.h"
#include "base/text.h"
#include "record/duel_set.h"
#include "record/load_axis.h"
#include "record/option_text.h"
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

constexpr const char* separator = label_separator;

template <typename Key>
using Groups = std::map<Key, std::vector<const PointSummary*>>;

template <typename Key>
std::set<std::string> varying_in(const Groups<Key>& groups, const DeviceNames& devices) {
  std::set<std::string> names;
  for (const auto& [key, members] : groups) {
    Varying group;
    for (const PointSummary* member : members) group.add(aspects_of(*member, devices));
    names.merge(group.names());
  }
  return names;
}

// Returns the aspects besides options that labels need: those that differ in some Workload, so that a Line has one label in every chart.
std::set<std::string> telling_aspects(const Groups<WorkloadKey>& groups, const DeviceNames& devices) {
  std::set<std::string> names = varying_in(groups, devices);
  std::erase_if(names, is_option);
  return names;
}

// Returns the options that the labels of one Workload need: those that differ among the Lines of one backend, whose name begins the label,
// on devices of one kind. An option of GPUs that no CPU takes is not a difference between the two.
std::set<std::string> telling_options(const std::vector<const PointSummary*>& members, const DeviceNames& devices) {
  Groups<std::pair<std::string, std::string>> groups;
  for (const PointSummary* member : members) {
    const auto& placed = member->point.placement.devices;
    groups[{member->point.backend, placed.empty() ? "" : placed.front().kind}].push_back(member);
  }
  std::set<std::string> names = varying_in(groups, devices);
  std::erase_if(names, [](const std::string& name) { return !is_option(name); });
  return names;
}

std::string line_label(const PointSummary& point, const std::set<std::string>& shown, const DeviceNames& devices) {
  std::string label = point.point.backend;
  for (const auto& [name, value] : aspects_of(point, devices)) {
    if (shown.count(name) != 0 && !value.empty()) label += separator + value;
  }
  return label;
}

std::string workload_label(const Point& point, const std::map<std::string, std::set<WorkloadKey>>& by_model) {
  std::string label = point.task == Task::infer ? point.model : fmt::format("{} {}", name_of(point.task), point.model);
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
  Groups<WorkloadKey> groups;
  std::map<std::string, std::set<WorkloadKey>> by_model;
  for (const PointSummary& point : points) {
    if (tenant_place(point.point) || contender_place(point.point)) continue;
    groups[workload_key(point.point)].push_back(&point);
    by_model[point.point.model].insert(workload_key(point.point));
  }
  DeviceNames devices;
  for (const PointSummary& point : points) devices.add(point);
  const auto in_every_chart = telling_aspects(groups, devices);
  std::vector<Workload> workloads;
  for (const auto& [key, members] : groups) {
    Workload& workload = workloads.emplace_back(Workload{members[0]->point, workload_label(members[0]->point, by_model), {}});
    std::set<std::string> shown = telling_options(members, devices);
    shown.insert(in_every_chart.begin(), in_every_chart.end());
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
    if (!value.empty()) shown.label = label_without(shown, option_text(name, value));
  }
  return shown.label;
}

std::string label_without_load_and_slo(const Line& line) {
  Line shown = line;
  shown.label = label_without_load(line);
  const std::string slo = option_of(line.key, "bound");
  return slo.empty() ? shown.label : label_without(shown, option_text("bound", slo));
}

namespace {

std::vector<std::string> parts_of(const std::string& label) {
  std::vector<std::string> parts;
  size_t from = 0;
  for (size_t at = label.find(separator); at != std::string::npos; at = label.find(separator, from)) {
    parts.push_back(label.substr(from, at - from));
    from = at + std::string_view(separator).size();
  }
  parts.push_back(label.substr(from));
  return parts;
}

std::set<std::string> common_parts(const std::vector<std::string>& labels) {
  std::set<std::string> common;
  for (size_t i = 0; i < labels.size(); ++i) {
    const std::vector<std::string> parts = parts_of(labels[i]);
    if (i == 0) common.insert(parts.begin(), parts.end());
    std::erase_if(common, [&](const std::string& part) { return std::find(parts.begin(), parts.end(), part) == parts.end(); });
  }
  return common;
}

}  // namespace

std::vector<std::string> labels_apart(const std::vector<std::string>& labels) {
  if (labels.size() == 1) return labels;
  const std::set<std::string> common = common_parts(labels);
  std::vector<std::string> apart;
  for (const std::string& label : labels) {
    std::vector<std::string> own = parts_of(label);
    std::erase_if(own, [&](const std::string& part) { return common.contains(part); });
    apart.push_back(own.empty() ? label : join(own, separator));
  }
  return apart;
}

std::string shared_label(const std::vector<std::string>& labels) {
  if (labels.size() < 2) return {};
  const std::set<std::string> common = common_parts(labels);
  std::vector<std::string> shared = parts_of(labels.front());
  std::erase_if(shared, [&](const std::string& part) { return !common.contains(part); });
  return join(shared, separator);
}

std::string label_with_batch(const Line& line, const PointSummary& point) { return line.label + separator + batch_words(point.point); }

}  // namespace deepgap
