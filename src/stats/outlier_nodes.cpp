#include "stats/outlier_nodes.h"

#include "stats/moments.h"

#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace deepgap {
namespace {

constexpr int most_rounds = 500;
constexpr double settled = 1e-12;
constexpr size_t nodes_for_several = 8;  // below, one outlier is looked for

// The measurements of one thing on one node.
struct Cell {
  uint32_t thing = 0, node = 0;
  std::vector<double> runs;  // logarithms
  Moments logs() const {
    Moments moments;
    for (const double run : runs) moments.add(run);
    return moments;
  }
};

std::vector<Cell> cells_of(std::span<const NodeValue> values) {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<double>> logs;
  for (const NodeValue& value : values) {
    if (std::isfinite(value.value) && value.value > 0) logs[{value.thing, value.node}].push_back(std::log(value.value));
  }
  std::map<uint32_t, int> nodes_of;
  for (const auto& [key, runs] : logs) ++nodes_of[key.first];
  std::vector<Cell> cells;
  for (auto& [key, runs] : logs) {
    if (nodes_of.at(key.first) > 1) cells.push_back({key.first, key.second, std::move(runs)});
  }
  return cells;
}

// The part that the first cell is in: what is reached from it by things that two nodes measured has one scale. It is taken out of `cells`.
std::vector<Cell> take_part(std::vector<Cell>& cells) {
  std::set<uint32_t> nodes, things{cells.front().thing};
  for (size_t before = 0; before != nodes.size() + things.size();) {
    before = nodes.size() + things.size();
    for (const Cell& cell : cells) {
      if (things.count(cell.thing) > 0) nodes.insert(cell.node);
      if (nodes.count(cell.node) > 0) things.insert(cell.thing);
    }
  }
  const auto rest = std::stable_partition(cells.begin(), cells.end(), [&](const Cell& cell) { return nodes.count(cell.node) == 0; });
  std::vector<Cell> part(rest, cells.end());
  cells.erase(rest, cells.end());
  return part;
}

std::vector<std::vector<Cell>> parts_of(std::vector<Cell> cells) {
  std::vector<std::vector<Cell>> parts;
  while (!cells.empty()) {
    std::vector<Cell> part = take_part(cells);
    std::set<uint32_t> nodes;
    for (const Cell& cell : part) nodes.insert(cell.node);
    if (nodes.size() >= fewest_nodes) parts.push_back(std::move(part));
  }
  return parts;
}

struct Node {
  uint32_t number = 0;
  double effect = 0;       // logarithm of its speed
  double per_process = 0;  // variance of the effect, in variances of a process
  int64_t values = 0;
};

// Each effect the mean of what is left in its cells, in turn, until they stay: least squares of an additive model.
std::vector<Node> fit_nodes(const std::vector<Cell>& cells) {
  std::map<uint32_t, double> things, nodes;
  for (int round = 0; round < most_rounds; ++round) {
    std::map<uint32_t, Moments> left;
    for (const Cell& cell : cells) left[cell.thing].add(cell.logs().mean() - nodes[cell.node]);
    for (const auto& [thing, moments] : left) things[thing] = moments.mean();
    left.clear();
    for (const Cell& cell : cells) left[cell.node].add(cell.logs().mean() - things[cell.thing]);
    double moved = 0;
    for (const auto& [node, moments] : left) {
      moved = std::max(moved, std::abs(nodes[node] - moments.mean()));
      nodes[node] = moments.mean();
    }
    if (moved < settled) break;
  }
  std::map<uint32_t, Node> found;
  std::map<uint32_t, double> count;
  for (const Cell& cell : cells) {
    Node& node = found[cell.node];
    node.number = cell.node;
    node.effect = nodes[cell.node];
    node.per_process += 1 / static_cast<double>(cell.logs().count());
    node.values += cell.logs().count();
    count[cell.node] += 1;
  }
  std::vector<Node> list;
  for (auto& [number, node] : found) {
    node.per_process /= count[number] * count[number];
    list.push_back(node);
  }
  return list;
}

double student_beyond(double degrees_of_freedom, double share) {
  return boost::math::quantile(boost::math::complement(boost::math::students_t(degrees_of_freedom), share));
}

Moments effects_of(const std::vector<Node>& nodes, const std::set<uint32_t>& without) {
  Moments effects;
  for (const Node& node : nodes) {
    if (without.count(node.number) == 0) effects.add(node.effect);
  }
  return effects;
}

// Rosner's test: the most extreme is taken out again and again; the last that stood out takes those before it along.
std::set<uint32_t> extreme_nodes(const std::vector<Node>& nodes, double error_rate) {
  const auto n = static_cast<double>(nodes.size());
  const size_t most = nodes.size() < nodes_for_several ? 1 : nodes.size() / 4;
  std::set<uint32_t> taken, extreme;
  for (size_t i = 1; i <= most; ++i) {
    const Moments left = effects_of(nodes, taken);
    const Node* furthest = nullptr;
    for (const Node& node : nodes) {
      const auto distance = [&](const Node& one) { return std::abs(one.effect - left.mean()); };
      if (taken.count(node.number) == 0 && (furthest == nullptr || distance(node) > distance(*furthest))) furthest = &node;
    }
    const double deviation = left.standard_deviation();
    if (furthest == nullptr || !(deviation > 0)) break;
    const double stands_out = std::abs(furthest->effect - left.mean()) / deviation, k = static_cast<double>(i);
    taken.insert(furthest->number);
    const double dof = n - k - 1, t = student_beyond(dof, error_rate / (2 * (n - k + 1)));
    if (stands_out > (n - k) * t / std::sqrt((dof + t * t) * (n - k + 1))) extreme = taken;
  }
  return extreme;
}

struct Noise {
  double variance = 0, degrees_of_freedom = 0;
};

Noise noise_of(const std::vector<Cell>& cells) {
  Noise noise;
  for (const Cell& cell : cells) {
    const auto degrees = static_cast<double>(cell.logs().count() - 1);
    noise.variance += cell.logs().variance() * degrees;
    noise.degrees_of_freedom += degrees;
  }
  if (noise.degrees_of_freedom > 0) noise.variance /= noise.degrees_of_freedom;
  return noise;
}

bool is_beyond_noise(const Node& node, const std::vector<Node>& nodes, const std::set<uint32_t>& outliers, const Noise& noise,
                     double error_rate) {
  if (!(noise.degrees_of_freedom > 0)) return true;
  double others = 0, count = 0;
  for (const Node& other : nodes) {
    if (outliers.count(other.number) != 0) continue;
    others += other.per_process;
    ++count;
  }
  const double error = std::sqrt(noise.variance * (node.per_process + others / (count * count)));
  const double distance = std::abs(node.effect - effects_of(nodes, outliers).mean());
  return distance > error * student_beyond(noise.degrees_of_freedom, error_rate / (2 * static_cast<double>(nodes.size())));
}

const Node& find_node(const std::vector<Node>& nodes, uint32_t number) {
  return *std::find_if(nodes.begin(), nodes.end(), [&](const Node& node) { return node.number == number; });
}

// Returns the cells without the node's run that is furthest from the others' in the direction in which the node is.
std::vector<Cell> without_worst_run(std::vector<Cell> cells, uint32_t number, bool is_slow) {
  std::map<uint32_t, Moments> others;
  for (const Cell& cell : cells) {
    if (cell.node != number) others[cell.thing].add(cell.logs().mean());
  }
  Cell* worst = nullptr;
  std::ptrdiff_t run = 0;
  double furthest = 0;
  for (Cell& cell : cells) {
    if (cell.node != number) continue;
    for (size_t i = 0; i < cell.runs.size(); ++i) {
      const double off = (cell.runs[i] - others[cell.thing].mean()) * (is_slow ? -1 : 1);
      if (worst != nullptr && off <= furthest) continue;
      worst = &cell;
      run = static_cast<std::ptrdiff_t>(i);
      furthest = off;
    }
  }
  if (worst != nullptr) worst->runs.erase(worst->runs.begin() + run);
  std::erase_if(cells, [](const Cell& cell) { return cell.runs.empty(); });
  return cells;
}

// A single run that something disturbed makes no slow node: the rest of its runs must say the same.
bool holds_without_worst_run(const std::vector<Cell>& cells, const std::vector<Node>& nodes, uint32_t number,
                             const std::set<uint32_t>& outliers, const Noise& noise, double error_rate) {
  const Node& node = find_node(nodes, number);
  if (node.values < 2) return true;
  const bool is_slow = node.effect < effects_of(nodes, outliers).mean();
  const std::vector<Node> rest = fit_nodes(without_worst_run(cells, number, is_slow));
  const Node& left = find_node(rest, number);
  return (left.effect < effects_of(rest, outliers).mean()) == is_slow && is_beyond_noise(left, rest, outliers, noise, error_rate);
}

void compare_part(const std::vector<Cell>& cells, double error_rate, std::vector<NodeSpeed>& speeds) {
  const std::vector<Node> nodes = fit_nodes(cells);
  const Noise noise = noise_of(cells);
  std::set<uint32_t> outliers = extreme_nodes(nodes, error_rate);
  std::erase_if(outliers, [&, all = outliers](uint32_t number) {
    return !is_beyond_noise(find_node(nodes, number), nodes, all, noise, error_rate) ||
           !holds_without_worst_run(cells, nodes, number, all, noise, error_rate);
  });
  const Moments others = effects_of(nodes, outliers);
  const auto m = static_cast<double>(others.count());
  const double half = m > 1 ? student_factor(m - 1) * others.standard_deviation() * std::sqrt(1 + 1 / m) : 0;
  for (const Node& node : nodes) {
    const double ratio = node.effect - others.mean();
    speeds.push_back({node.number,
                      std::exp(ratio),
                      {std::exp(ratio - half), std::exp(ratio + half)},
                      node.values,
                      outliers.count(node.number) > 0,
                      static_cast<int64_t>(others.count())});
  }
}

}  // namespace

std::vector<NodeSpeed> compare_nodes(std::span<const NodeValue> values, double error_rate) {
  const std::vector<std::vector<Cell>> parts = parts_of(cells_of(values));
  std::vector<NodeSpeed> speeds;
  for (const std::vector<Cell>& part : parts) compare_part(part, error_rate / static_cast<double>(parts.size()), speeds);
  return speeds;
}

}  // namespace deepgap
