#include "stats/nested.h"

#include "stats/moments.h"

#include <algorithm>
#include <map>

namespace deepgap {
namespace {

// Never surer than the scatter within the processes allows: agreement by chance is no certainty.
NestedMean on_one_node(std::span<const ProcessValue> values) {
  Moments moments;
  double within = 0;
  for (const ProcessValue& one : values) {
    moments.add(one.value);
    within += one.variance / static_cast<double>(values.size());
  }
  const auto k = static_cast<double>(values.size());
  const double seen = std::max(moments.variance(), within);
  return {{moments.mean(), seen / k, k - 1, moments.count()}, std::max(0.0, moments.variance() - within), seen, 0, 1};
}

// How processes scatter around their node's mean, by all nodes that have several.
struct WithinNodes {
  double squares = 0, degrees_of_freedom = 0, within = 0, count = 0;

  void add(const Moments& node, double variances) {
    squares += node.variance() * static_cast<double>(node.count() - 1);
    degrees_of_freedom += static_cast<double>(node.count() - 1);
    within += variances;
    count += static_cast<double>(node.count());
  }
  double seen() const { return degrees_of_freedom > 0 ? squares / degrees_of_freedom : 0; }
  double mean_within() const { return within / count; }
};

}  // namespace

NestedMean nested_mean(std::span<const ProcessValue> values) {
  std::map<uint64_t, std::pair<Moments, double>> nodes;  // with the sum of what is seen within its processes
  for (const ProcessValue& one : values) {
    auto& [moments, variances] = nodes[one.node];
    moments.add(one.value);
    variances += one.variance;
  }
  if (nodes.size() < 2) return on_one_node(values);
  Moments means;
  WithinNodes within;
  double share_of_one = 0;  // of a process's variance that is in the mean of the nodes' means
  const auto m = static_cast<double>(nodes.size());
  for (const auto& [node, held] : nodes) {
    means.add(held.first.mean());
    within.add(held.first, held.second);
    share_of_one += 1 / static_cast<double>(held.first.count()) / (m * m);
  }
  const double of_process = std::max(within.seen(), within.mean_within());
  const double variance = std::max(means.variance() / m, of_process * share_of_one);
  return {{means.mean(), variance, m - 1, static_cast<int64_t>(values.size())},
          std::max(0.0, within.seen() - within.mean_within()),
          of_process,
          std::max(0.0, means.variance() - of_process * share_of_one * m),
          static_cast<int64_t>(nodes.size())};
}

}  // namespace deepgap
