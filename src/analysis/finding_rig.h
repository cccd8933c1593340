// For tests of Findings: Records from a few figures, and what one Finding says of them.
#pragma once

#include "analysis/finding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace deepgap {

// Repeats of one Point, with valid Records of these figures.
struct Made {
  std::string model = "resnet50", backend = "native";
  int64_t batch = 1;
  std::vector<double> throughputs;  // one a repeat
  Precision precision = Precision::fp32;
  int threads = 2;
  std::string device = "cpu";
  std::map<std::string, double> metrics;  // besides
  int devices = 1;                        // number of devices, all the same
  std::map<std::string, std::string> options;
  std::string device_name;  // name as in the environment; empty: not known
  std::string cpu_model;
  Task task = Task::infer;
};

inline void add(ResultsCollector& collector, const Made& made) {
  for (size_t i = 0; i < made.throughputs.size(); ++i) {
    Record record;
    record.point.model = made.model;
    record.point.backend = made.backend;
    record.point.task = made.task;
    record.point.batch = made.batch;
    record.point.precision = made.precision;
    record.point.threads = made.threads;
    record.point.placement.devices.clear();
    for (int index = 0; index < made.devices; ++index) record.point.placement.devices.push_back({"", made.device, index});
    record.point.options = made.options;
    for (int index = 0; index < made.devices && !made.device_name.empty(); ++index)
      record.environment["gpu.cuda" + std::to_string(index) + ".name"] = made.device_name;
    if (!made.cpu_model.empty()) record.environment["cpu.model"] = made.cpu_model;
    for (const auto& [id, value] : made.metrics) record.estimates[id] = {value, {}, {}, 1};
    record.repeat = static_cast<int>(i);
    record.verdict = Verdict::valid;
    const double x = made.throughputs[i];
    record.estimates["throughput"] = {x, x * 0.999, x * 1.001, 100};
    const double latency = 1e3 * static_cast<double>(made.batch) / x;
    record.estimates["latency_p50_ms"] = {latency, {}, {}, 100};
    record.estimates["latency_p99_ms"] = {latency * 1.5, {}, {}, 100};
    collector.add(record);
  }
}

inline Record failed(Outcome outcome, const std::string& reason, const std::string& backend = "onnxruntime") {
  Record record;
  record.point.model = "resnet50";
  record.point.backend = backend;
  record.outcome = outcome;
  record.reason = reason;
  return record;
}

// Returns the Finding's statements. The points that a statement names are gone with the results; how many there are can be asked.
inline std::vector<Statement> find(const std::string& id, const ResultsCollector& collector) {
  const Results results = collector.results();
  const auto workloads = arrange(results.points);
  const auto known = known_findings();
  const auto finding = std::find_if(known.begin(), known.end(), [&](const Finding& one) { return one.id == id; });
  if (finding == known.end()) throw std::out_of_range("there is no finding " + id);
  return finding->find({results, workloads});
}

}  // namespace deepgap
