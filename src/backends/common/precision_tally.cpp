#include "backends/common/precision_tally.h"

namespace deepgap {

PrecisionTally::PrecisionTally(const Model& model) : graph_(model.graph()) {
  for (const int64_t macs : model.node_macs()) work_.push_back({macs, ""});
  for (size_t i = 0; i < work_.size(); ++i) {
    const Node& node = graph_.nodes[i];
    names_.emplace(node.name, i);
    for (const ValueId output : node.outputs) makers_.emplace(output, i);
    if (!node.outputs.empty() && node.outputs[0] != no_value) names_.emplace(graph_.values[static_cast<size_t>(node.outputs[0])].name, i);
  }
}

std::optional<size_t> PrecisionTally::node_called(std::string_view layer) const {
  constexpr std::string_view separators = "/_:.";
  for (size_t length = layer.size(); length != 0 && length != std::string_view::npos; length = layer.find_last_of(separators, length - 1)) {
    if (const auto found = names_.find(layer.substr(0, length)); found != names_.end()) return found->second;
  }
  return std::nullopt;
}

bool PrecisionTally::tell(size_t node, const std::string& precision) {
  Work& work = work_[node];
  if (work.macs > 0 && work.precision.empty()) work.precision = precision;
  return work.macs > 0;
}

bool PrecisionTally::computed(std::string_view layer, const std::string& precision) {
  const auto node = node_called(layer);
  return node && tell(*node, precision);
}

// Level by level back from the node, never past one that multiplies.
bool PrecisionTally::computed_up_to(std::string_view layer, const std::string& precision) {
  const auto last = node_called(layer);
  if (!last) return false;
  std::vector<size_t> level{*last};
  for (int depth = 0; depth < 8 && !level.empty(); ++depth) {
    std::vector<size_t> before;
    bool multiplied = false;
    for (const size_t node : level) {
      if (work_[node].macs > 0) {
        multiplied = true;
        if (work_[node].precision.empty()) return tell(node, precision);
        continue;
      }
      for (const ValueId input : graph_.nodes[node].inputs) {
        const auto maker = makers_.find(input);
        if (input != no_value && maker != makers_.end()) before.push_back(maker->second);
      }
    }
    if (multiplied) return true;  // its precision was reported before
    level = std::move(before);
  }
  return false;
}

PrecisionShares PrecisionTally::shares() const {
  const std::string untold = elsewhere_.size() == 1 ? *elsewhere_.begin() : "unknown";
  double whole = 0;
  PrecisionShares shares;
  for (const Work& work : work_) {
    if (work.macs == 0) continue;
    whole += static_cast<double>(work.macs);
    shares[work.precision.empty() ? untold : work.precision] += static_cast<double>(work.macs);
  }
  for (auto& [precision, share] : shares) share /= whole;
  return shares;
}

}  // namespace deepgap
