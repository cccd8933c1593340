// Aspects distinguish Points of one model, by name and as labels show them: device, precision, scenario, threads, options, tenant, rank.
// Names begin with a digit, which gives their order in a label. For lines.h and point_labels.h.
#pragma once

#include "analysis/point_summary.h"

#include <cstddef>
#include <map>
#include <set>
#include <string>

namespace deepgap {

inline constexpr const char* label_separator = " \u00b7 ";

std::string threads_text(const Point& point);  // "2 threads"

// Names devices: a GPU by its model, as short as distinguishes it ("H100"), several of them with their count ("4x H100"), and with the
// index where points ran on different ones ("H100 cuda:1"), and with their number of processes where it differs ("4x H100, 4 processes").
// The CPU is "cpu" as long as there is one.
class DeviceNames {
 public:
  void add(const PointSummary& point);
  std::string of(const PointSummary& point) const;

 private:
  std::string name_of_model(const std::string& device) const;

  struct Places {
    std::set<std::string> devices;  // "cuda:0+cuda:1"
    std::set<int> processes;
  };
  std::map<std::string, std::map<size_t, Places>> placements_;  // by device and number of devices
  std::set<std::string> cpus_;
};

using Aspects = std::map<std::string, std::string>;
Aspects aspects_of(const PointSummary& summary, const DeviceNames& names);
// Returns also what the workload of a chart says about its Points: task, model file, weights, dataset; and the place in a duel.
Aspects all_aspects(const PointSummary& summary, const DeviceNames& names);
inline bool is_option(const std::string& aspect) { return aspect.starts_with("5 "); }

// Finds the aspects in which the members of a group differ; a missing aspect is a value too.
class Varying {
 public:
  void add(const Aspects& member);
  std::set<std::string> names() const;

 private:
  std::map<std::string, std::set<std::string>> values_;
  std::map<std::string, size_t> present_;
  size_t members_ = 0;
};

}  // namespace deepgap
