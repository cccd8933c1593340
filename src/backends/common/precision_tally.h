// Adds up in which precision the nodes of a Graph were computed, weighed by their multiply-accumulates.
#pragma once

#include <deepgap/model.h>
#include <deepgap/session.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

class PrecisionTally {
 public:
  // The Model outlives the tally.
  explicit PrecisionTally(const Model& model);

  // A layer of the engine that multiplies, by the name it has there, computed in `precision`. Engines call it by a node's name or by its
  // first output's, alone or with more behind it ("conv1/WithoutBiases", "conv1_token_3"): it stands for the longest such name in the
  // Graph. True when that is a node with multiply-accumulates; of two layers for one node the first counts.
  bool computed(std::string_view layer, const std::string& precision);

  // The same for engines that call a layer by the last of the nodes that it fused: where the name leads to a node without
  // multiply-accumulates, it stands for the nearest node with some before it, and among equally near ones for the first not reported yet.
  bool computed_up_to(std::string_view layer, const std::string& precision);

  // A layer whose name leads nowhere. Where all of these are computed in one precision, so are the nodes that no other layer stands for.
  void computed_elsewhere(const std::string& precision) { elsewhere_.insert(precision); }

  // Other nodes that no layer stood for count as "unknown". Empty when nothing is known of the work, or no node multiplies.
  PrecisionShares shares() const;

 private:
  std::optional<size_t> node_called(std::string_view layer) const;
  bool tell(size_t node, const std::string& precision);

  struct Work {
    int64_t macs = 0;
    std::string precision;  // empty: not reported
  };
  const Graph& graph_;
  std::set<std::string> elsewhere_;
  std::vector<Work> work_;                            // beside the nodes; empty when it is not known
  std::map<std::string, size_t, std::less<>> names_;  // names of nodes and their first outputs -> node
  std::map<ValueId, size_t> makers_;                  // value -> node
};

}  // namespace deepgap
