// Adds up in which precision the nodes of a Graph were computed, weighed by their multiply-accumulates.
#pragma once

#include <deepgap/model.h>
#include <deepgap/session.h>

#include <functional>
#include <map>
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

  // Nodes that no layer stood for count as "unknown". Empty when nothing is known of the work, or no node multiplies.
  PrecisionShares shares() const;

 private:
  struct Work {
    int64_t macs = 0;
    std::string precision;  // empty: not told
  };
  std::vector<Work> work_;                            // beside the nodes; empty when it is not known
  std::map<std::string, size_t, std::less<>> names_;  // of nodes and their first outputs -> node
};

}  // namespace deepgap
