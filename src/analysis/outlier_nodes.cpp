#include "analysis/outlier_nodes.h"

#include "analysis/words.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>

namespace deepgap {
namespace {

// Names as numbers, in the order in which they come.
class Numbers {
 public:
  uint32_t of(const std::string& name) {
    const auto [known, is_new] = numbers_.try_emplace(name, static_cast<uint32_t>(names_.size()));
    if (is_new) names_.push_back(name);
    return known->second;
  }
  const std::string& name(uint32_t number) const { return names_.at(number); }

 private:
  std::map<std::string, uint32_t> numbers_;
  std::vector<std::string> names_;
};

}  // namespace

std::vector<SlowNode> slow_nodes(const std::vector<NodeReading>& readings) {
  Numbers points, nodes;
  std::vector<NodeValue> values;
  for (const NodeReading& reading : readings) values.push_back({points.of(reading.point_id), nodes.of(reading.node), reading.throughput});
  std::vector<SlowNode> slow;
  for (const NodeSpeed& speed : compare_nodes(values)) {
    if (speed.is_outlier && speed.ratio < 1) slow.push_back({nodes.name(speed.node), speed});
  }
  return slow;
}

std::string words_of(const SlowNode& slow) {
  const auto slower = [](double ratio) { return 100 * (1 - ratio); };
  return fmt::format("outlier node: {:.1f} % slower ({:.1f} to {:.1f}) than the {} others of its kind, by {} of what others measured too",
                     slower(slow.speed.ratio), slower(slow.speed.interval.high), slower(slow.speed.interval.low), slow.speed.others,
                     count_of(slow.speed.values, "run", "runs"));
}

}  // namespace deepgap
