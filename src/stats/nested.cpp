#include "stats/nested.h"

#include "stats/moments.h"

#include <boost/math/distributions/chi_squared.hpp>

#include <algorithm>
#include <map>

namespace deepgap {
namespace {

// Returns the 95 % upper bound on the variance of normal values, as a multiple of the one seen.
double upper_bound_of_variance(double degrees_of_freedom) {
  constexpr double below = 0.05;
  return degrees_of_freedom / boost::math::quantile(boost::math::chi_squared(degrees_of_freedom), below);
}

// Returns the variance behind `seen`: never below what is seen within each value allows, since agreement by chance is no certainty.
double variance_of(double seen, double degrees_of_freedom, double within) {
  if (within <= seen || seen <= 0 || degrees_of_freedom < 1) return std::max(seen, within);
  return std::min(within, seen * upper_bound_of_variance(degrees_of_freedom));
}

NestedMean on_one_node(std::span<const ProcessValue> values) {
  Moments moments;
  double within = 0;
  for (const ProcessValue& one : values) {
    moments.add(one.value);
    within += one.variance / static_cast<double>(values.size());
  }
  const auto k = static_cast<double>(values.size());
  const double seen = variance_of(moments.variance(), k - 1, within);
  return {{moments.mean(), seen / k, k - 1, moments.count()}, std::max(0.0, moments.variance() - within), seen, 0, 1};
}

// The scatter of processes around their node's mean, by all nodes that have several.
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
  double share_of_one = 0;  // share of a process's variance in the mean of the nodes' means
  const auto m = static_cast<double>(nodes.size());
  for (const auto& [node, held] : nodes) {
    means.add(held.first.mean());
    within.add(held.first, held.second);
    share_of_one += 1 / static_cast<double>(held.first.count()) / (m * m);
  }
  const double of_process = variance_of(within.seen(), within.degrees_of_freedom, within.mean_within());
  const double variance = std::max(means.variance() / m, of_process * share_of_one);
  return {{means.mean(), variance, m - 1, static_cast<int64_t>(values.size())},
          std::max(0.0, within.seen() - within.mean_within()),
          of_process,
          std::max(0.0, means.variance() - of_process * share_of_one * m),
          static_cast<int64_t>(nodes.size())};
}

}  // namespace deepgap
