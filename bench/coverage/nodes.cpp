// Several nodes of one kind: which of them are called outliers.
#include "comparisons.h"

#include "simulated_run.h"

#include "stats/outlier_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace deepgap {
namespace {

constexpr double process = 0.01;

// So many runs on each node.
using Runs = std::vector<int>;

// The error of one run, as a logarithm.
using Noise = std::function<double(Random&)>;

struct Fleet {
  std::string name;
  Runs runs;
  double node_scatter = 0;
  Noise noise;
};

// Nodes called slow: the first one, which is slower by `slow`, and any of the others.
std::pair<bool, bool> named(Random& random, const Fleet& fleet, double slow) {
  std::normal_distribution<double> normal;
  std::vector<NodeValue> values;
  for (uint32_t node = 0; node < fleet.runs.size(); ++node) {
    const double of_node = fleet.node_scatter * normal(random) + (node == 0 ? std::log(1 - slow) : 0);
    for (int run = 0; run < fleet.runs[node]; ++run) values.push_back({0, node, std::exp(of_node + fleet.noise(random))});
  }
  std::pair<bool, bool> found{false, false};
  for (const NodeSpeed& speed : compare_nodes(values)) {
    if (speed.is_outlier && speed.ratio < 1) (speed.node == 0 ? found.first : found.second) = true;
  }
  return found;
}

Runs uneven(size_t nodes) {
  Runs runs;
  for (size_t i = 0; i < nodes; ++i) runs.push_back(2 + 2 * static_cast<int>(i % 4));
  return runs;
}

void print_outliers(int series) {
  fmt::print("\nNodes that are called outliers, {} fleets a cell; a run is 1 % off unless stated\n", series);
  fmt::print(
      "| nodes | runs | nodes apart | noise | all equal: any named, % | one 3 % slower: named, % | 5 %: named, % | another named, % |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  const Noise white = [](Random& random) { return process * std::normal_distribution<double>()(random); };
  const Noise tailed = [](Random& random) { return process * std::student_t_distribution<double>(3)(random) / std::sqrt(3.0); };
  const Noise disturbed = [](Random& random) {
    const double usual = process * std::normal_distribution<double>()(random);
    return std::uniform_real_distribution<double>()(random) < 0.02 ? usual - 0.2 : usual;
  };
  const std::vector<Fleet> fleets{{"normal", Runs(3, 2), 0, white},
                                  {"normal", Runs(4, 2), 0, white},
                                  {"normal", Runs(8, 1), 0, white},
                                  {"normal", Runs(8, 2), 0, white},
                                  {"normal", Runs(16, 1), 0, white},
                                  {"normal", Runs(16, 2), 0, white},
                                  {"normal", uneven(16), 0, white},
                                  {"normal", Runs(16, 6), 0, white},
                                  {"normal", Runs(64, 2), 0, white},
                                  {"normal", Runs(16, 6), 0.01, white},
                                  {"normal", Runs(64, 6), 0.01, white},
                                  {"Student's t, 3", Runs(16, 2), 0, tailed},
                                  {"Student's t, 3", Runs(16, 6), 0, tailed},
                                  {"1 run in 50 is 20 % slower", Runs(16, 2), 0, disturbed},
                                  {"1 run in 50 is 20 % slower", Runs(16, 6), 0, disturbed}};
  uint64_t seed = 9000;
  for (const Fleet& fleet : fleets) {
    Random random(++seed);
    int equal = 0, slow3 = 0, slow5 = 0, other = 0;
    for (int i = 0; i < series; ++i) {
      const auto none = named(random, fleet, 0), some = named(random, fleet, 0.03), much = named(random, fleet, 0.05);
      equal += none.first || none.second ? 1 : 0;
      slow3 += some.first ? 1 : 0;
      slow5 += much.first ? 1 : 0;
      other += much.second ? 1 : 0;
    }
    const auto [least, most] = std::minmax_element(fleet.runs.begin(), fleet.runs.end());
    fmt::print("| {} | {} | {:.0f} % | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n", fleet.runs.size(),
               *least == *most ? std::to_string(*least) : fmt::format("{} to {}", *least, *most), 100 * fleet.node_scatter, fleet.name,
               percent(equal, series), percent(slow3, series), percent(slow5, series), percent(other, series));
    std::fflush(stdout);
  }
}

}  // namespace

void print_nodes(int series) {
  print_node_points(series);
  print_outliers(series);
}

}  // namespace deepgap
