// Points that several nodes of one kind measured, as Records say where: how often their intervals hold the truth, which is that of the
// kind, and how often two of them are called different. Beside it what the same Records give without their node.
#include "comparisons.h"

#include "simulated_run.h"

#include "analysis/comparison.h"
#include "analysis/latency_percentile.h"
#include "analysis/point_summary.h"
#include "record/identity.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace deepgap {
namespace {

constexpr double process = 0.01, within = 0.003;

// So many runs on each node; nodes are numbered from `first` on.
struct Design {
  std::string name;
  std::vector<int> runs;
  int first = 0;
};

// The sources of a Point's speed beside its own: nodes, and what a node is to this Point more than to others.
struct Scatter {
  double node = 0, point_on_node = 0;
};

// The nodes' own effects, which all Points of a series share.
std::vector<double> nodes_of(Random& random, double scatter) {
  std::normal_distribution<double> normal;
  std::vector<double> nodes(32);
  for (double& node : nodes) node = scatter * normal(random);
  return nodes;
}

Record record_of(const std::string& model, int node, int run, const std::string& run_id) {
  Record record;
  record.point.model = model;
  record.verdict = Verdict::valid;
  record.run_id = run_id + std::to_string(node);
  record.repeat = run;
  record.facts[fleet_node_fact] = fmt::format("n{}", node);
  return record;
}

std::vector<Record> measured(Random& random, const Design& design, const std::vector<double>& nodes, double truth, double point_on_node,
                             const std::string& model, const std::string& run_id) {
  std::normal_distribution<double> normal;
  std::vector<Record> records;
  for (size_t at = 0; at < design.runs.size(); ++at) {
    const int node = design.first + static_cast<int>(at);
    const double of_node = nodes[static_cast<size_t>(node)] + point_on_node * normal(random);
    for (int run = 0; run < design.runs[at]; ++run) {
      const double value = truth * std::exp(of_node + process * normal(random) + within * normal(random));
      Record record = record_of(model, node, run, run_id);
      record.estimates["throughput"] = {value, value * (1 - 2.04 * within), value * (1 + 2.04 * within), 1000};
      records.push_back(std::move(record));
    }
  }
  return records;
}

std::vector<Record> without_nodes(std::vector<Record> records) {
  for (Record& record : records) record.facts.erase(fleet_node_fact);
  return records;
}

PointSummary summary_of(const std::vector<Record>& records) { return summarize_points(records).at(0); }

struct Coverage {
  int covered = 0, bounded = 0;
  double width = 0;
  void add(const Estimate& estimate, double truth) {
    covered += (!estimate.low || *estimate.low <= truth) && (!estimate.high || truth <= *estimate.high) ? 1 : 0;
    if (!estimate.low || !estimate.high) return;
    ++bounded;
    width += 50 * (*estimate.high - *estimate.low) / truth;
  }
  double mean_width() const { return bounded == 0 ? 0 : width / bounded; }
};

void print_intervals(int series) {
  fmt::print("\nA Point on several nodes of a kind, processes 1 % apart, the truth is that of the kind, {} series a row\n", series);
  fmt::print(
      "| nodes apart | runs on each node | two levels: covers, % | half-width, % | three: covers, % | half-width, % |\n"
      "| --- | --- | --- | --- | --- | --- |\n");
  const std::vector<Design> designs{{"3, 3", {3, 3}},
                                    {"3, 2", {3, 2}},
                                    {"3, 3, 3", {3, 3, 3}},
                                    {"5, 1, 1", {5, 1, 1}},
                                    {"2 on each of 5", std::vector<int>(5, 2)},
                                    {"2 on each of 16", std::vector<int>(16, 2)},
                                    {"10, 1, 1, 1, 1, 1", {10, 1, 1, 1, 1, 1}}};
  uint64_t seed = 8000;
  for (const double scatter : {0.0, 0.005, 0.02}) {
    for (const Design& design : designs) {
      Random random(++seed);
      Coverage two, three;
      const double truth = 100 * std::exp((scatter * scatter + process * process + within * within) / 2);
      for (int i = 0; i < series; ++i) {
        const auto records = measured(random, design, nodes_of(random, scatter), 100, 0, "a", "r");
        three.add(summary_of(records).find("throughput")->estimate, truth);
        two.add(summary_of(without_nodes(records)).find("throughput")->estimate, truth);
      }
      fmt::print("| {:.1f} % | {} | {:.1f} | {:.2f} | {:.1f} | {:.2f} |\n", 100 * scatter, design.name, percent(two.covered, series),
                 two.mean_width(), percent(three.covered, series), three.mean_width());
      std::fflush(stdout);
    }
  }
}

// Queries of 10 ms, lognormal with sigma 0.3: the p99 of the kind, whose nodes and processes are each slower or quicker as a whole.
void print_percentiles_of_nodes(int series) {
  fmt::print("\nThe p99 of such a Point, 400 lognormal queries (sigma 0.3) a run, {} series a row\n", series);
  fmt::print(
      "| nodes apart | runs on each node | two levels: covers, % | half-width, % | three: covers, % | half-width, % |\n"
      "| --- | --- | --- | --- | --- | --- |\n");
  constexpr double sigma = 0.3, normal_p99 = 2.3263478740408408;
  uint64_t seed = 8100;
  for (const double scatter : {0.0, 0.02, 0.05}) {
    for (const Design& design : {Design{"3, 3, 3", {3, 3, 3}}, Design{"2 on each of 8", std::vector<int>(8, 2)}}) {
      Random random(++seed);
      std::normal_distribution<double> normal;
      Coverage two, three;
      const double truth = 10 * std::exp(normal_p99 * std::sqrt(sigma * sigma + scatter * scatter + process * process));
      for (int i = 0; i < series; ++i) {
        std::vector<Record> records;
        const std::vector<double> nodes = nodes_of(random, scatter);
        for (size_t node = 0; node < design.runs.size(); ++node) {
          for (int run = 0; run < design.runs[node]; ++run) {
            Record record = record_of("a", static_cast<int>(node), run, "r");
            const double off = nodes[node] + process * normal(random);
            for (int query = 0; query < 400; ++query) {
              const double ms = 10 * std::exp(off + sigma * normal(random));
              record.timings.push_back({0, 0, 0, static_cast<int64_t>(1e6 * ms), 1});
            }
            record.estimates["latency_p99_ms"] = *latency_percentile(record, 99);
            keep_latency_sketch(record);
            record.timings.clear();
            records.push_back(std::move(record));
          }
        }
        three.add(summary_of(records).find("latency_p99_ms")->estimate, truth);
        two.add(summary_of(without_nodes(records)).find("latency_p99_ms")->estimate, truth);
      }
      fmt::print("| {:.1f} % | {} | {:.1f} | {:.2f} | {:.1f} | {:.2f} |\n", 100 * scatter, design.name, percent(two.covered, series),
                 two.mean_width(), percent(three.covered, series), three.mean_width());
      std::fflush(stdout);
    }
  }
}

struct Against {
  std::string name;
  Design first, second;
  bool same_runs = false;  // measured in the same blocks
};

void print_comparisons_of_nodes(int series) {
  fmt::print("\nTwo Points of a kind, nodes 2 % apart, each Point 0.5 % more on each, processes 1 %, {} series a row\n", series);
  fmt::print(
      "| runs on each node | equal, two levels: called different, % | equal, three: called different, % | half-width, % | 5 % apart, "
      "three: detected, % |\n| --- | --- | --- | --- | --- |\n");
  const std::vector<int> four(4, 3), eight(8, 2);
  const std::vector<Against> rows{{"3 on each of 2 nodes, same blocks", {"", {3, 3}}, {"", {3, 3}}, true},
                                  {"3 on each of 4 nodes, same blocks", {"", four}, {"", four}, true},
                                  {"2 on each of 8 nodes, same blocks", {"", eight}, {"", eight}, true},
                                  {"3 on each of 4 nodes, other runs", {"", four}, {"", four}},
                                  {"3 on each of 4 nodes, other nodes", {"", four}, {"", four, 8}},
                                  {"2 on each of 8 nodes, other nodes", {"", eight}, {"", eight, 8}},
                                  {"2 on each of 8 nodes, 3 on another", {"", eight}, {"", {3}, 8}}};
  uint64_t seed = 8200;
  for (const Against& row : rows) {
    Random random(++seed);
    int two = 0, three = 0, apart = 0;
    double width = 0;
    for (int i = 0; i < series; ++i) {
      const std::vector<double> nodes = nodes_of(random, 0.02);
      const auto first = measured(random, row.first, nodes, 100, 0.005, "a", "r");
      const auto second = measured(random, row.second, nodes, 100, 0.005, "b", row.same_runs ? "r" : "s");
      const auto compared = *compare_points(summary_of(first), summary_of(second), "throughput");
      three += compared.separable() ? 1 : 0;
      if (compared.interval) width += 50 * std::log(compared.interval->high / compared.interval->low) / series;
      two += compare_points(summary_of(without_nodes(first)), summary_of(without_nodes(second)), "throughput")->separable() ? 1 : 0;
      const auto faster = measured(random, row.first, nodes, 105, 0.005, "a", "r");
      apart += compare_points(summary_of(faster), summary_of(second), "throughput")->separable() ? 1 : 0;
    }
    fmt::print("| {} | {:.1f} | {:.1f} | {:.2f} | {:.1f} |\n", row.name, percent(two, series), percent(three, series), width,
               percent(apart, series));
    std::fflush(stdout);
  }
}

}  // namespace

void print_node_points(int series) {
  print_intervals(series);
  print_percentiles_of_nodes(series);
  print_comparisons_of_nodes(series);
}

}  // namespace deepgap
