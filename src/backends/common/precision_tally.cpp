#include "backends/common/precision_tally.h"

namespace deepgap {

PrecisionTally::PrecisionTally(const Model& model) {
  const Graph& graph = model.graph();
  for (const int64_t macs : model.node_macs()) work_.push_back({macs, ""});
  for (size_t i = 0; i < work_.size(); ++i) {
    const Node& node = graph.nodes[i];
    names_.emplace(node.name, i);
    if (!node.outputs.empty() && node.outputs[0] != no_value) names_.emplace(graph.values[static_cast<size_t>(node.outputs[0])].name, i);
  }
}

bool PrecisionTally::computed(std::string_view layer, const std::string& precision) {
  constexpr std::string_view separators = "/_:.";
  for (size_t length = layer.size(); length != 0 && length != std::string_view::npos; length = layer.find_last_of(separators, length - 1)) {
    const auto found = names_.find(layer.substr(0, length));
    if (found == names_.end()) continue;
    Work& work = work_[found->second];
    if (work.macs > 0 && work.precision.empty()) work.precision = precision;
    return work.macs > 0;
  }
  return false;
}

PrecisionShares PrecisionTally::shares() const {
  double whole = 0;
  PrecisionShares shares;
  for (const Work& work : work_) {
    if (work.macs == 0) continue;
    whole += static_cast<double>(work.macs);
    shares[work.precision.empty() ? "unknown" : work.precision] += static_cast<double>(work.macs);
  }
  for (auto& [precision, share] : shares) share /= whole;
  return shares;
}

}  // namespace deepgap
