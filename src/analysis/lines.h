// How Points are grouped in charts and comparisons. A Workload is what is computed: task, model, weights, dataset. Its Lines are the ways
// it was computed: backend, device, precision, scenario, threads, options. Along a Line only the batch changes. Labels name what differs:
// the backend always, an option where it differs within the Workload, anything else where some Workload has more than one value of it, so
// that the same Line has the same label in every chart. A GPU is named by its model where the Records have it, a CPU where there are
// several. Pointers lead into the Points given, which must outlive the result.
#pragma once

#include "analysis/point_summary.h"

#include <span>
#include <string>
#include <vector>

namespace deepgap {

struct Line {
  Point key;           // taken from any of its Points; its batch is 0
  std::string device;  // Identity::device of all of them
  std::string label;
  std::string device_label;                 // how labels name its devices, whether or not its own does: "H200", "cuda:0"
  std::vector<const PointSummary*> points;  // by batch

  PointOnDevice on_device() const { return {key, device}; }

  // Returns whether a peak search chose its load: the Points are candidates of that search, whose throughput is what was offered, and
  // others cannot be ranked against them. peak() and at_batch() are then nullptr.
  bool is_candidate() const { return key.options.contains("peak"); }
  // The usable Point with the highest throughput, or nullptr.
  const PointSummary* peak() const;
  const PointSummary* at_batch(int64_t batch) const;  // usable, or nullptr
};

struct Workload {
  Point key;  // only task, model, model_hash, weights, dataset are meant
  std::string label;
  std::vector<Line> lines;  // by label
};

// Returns Workloads by label. Tenants' Points are left out: they share a device, and analysis/interference.h has them.
std::vector<Workload> arrange(std::span<const PointSummary> points);

// The label without one aspect as it shows it ("fp16", "rate=200"), or without its number of threads: for what is said or drawn over them.
std::string label_without(const Line& line, const std::string& aspect);
std::string label_without_threads(const Line& line);
std::string label_without_device(const Line& line);
// Returns the label without the load that the Line offers (record/load_axis.h) and what a search notes on its runs.
std::string label_without_load(const Line& line);
// Likewise without the latency SLO, for statements that name both.
std::string label_without_load_and_slo(const Line& line);

// Labels side by side, without the parts that all of them have: "inputs=host · batch 8", "inputs=ready · batch 8" become what differs. One
// that would be empty stays whole; so does a single one.
std::vector<std::string> labels_apart(const std::vector<std::string>& labels);
// Returns what labels_apart() leaves out, unless it leaves a label whole.
std::string shared_label(const std::vector<std::string>& labels);
// "libtorch_cuda · H200, batch 8" with the parts of its label: for labels_apart.
std::string label_with_batch(const Line& line, const PointSummary& point);

}  // namespace deepgap
