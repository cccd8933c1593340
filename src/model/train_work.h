// What a step of training costs, from the Graph alone.
//
// The backward pass asks each operator for the gradients of those operands that lead to a trainable weight. A product (Conv, Gemm, MatMul,
// ...) is computed once more for each of its two that do: a convolution in the middle of a network takes three times its forward work, the
// first one twice. Another operator is counted once more. Bytes likewise: a gradient of one operand reads the result's and the other
// operand, and writes its own, which are the tensors that the forward pass moves. The update reads and writes each weight, its gradient and
// the optimizer's state.
#pragma once

#include "model/graph_tools.h"

#include <deepgap/graph.h>
#include <deepgap/train.h>

#include <cstdint>
#include <vector>

namespace deepgap {

// -1 where sizes other than the batch are open.
struct TrainWork {
  int64_t macs_per_item = -1;  // forward and backward pass
  int64_t passes_flop = -1;    // likewise, of an item
  int64_t passes_bytes = -1;
  int64_t update_flop = 0;  // operations of one step, whatever its batch
  int64_t update_bytes = 0;

  int64_t flop_per_item(int64_t batch) const { return passes_flop < 0 ? -1 : passes_flop + update_flop / batch; }
  int64_t bytes_per_item(int64_t batch) const { return passes_bytes < 0 ? -1 : passes_bytes + update_bytes / batch; }
};

TrainWork train_work(const Graph& graph, const TrainSettings& settings);

// Per value: whether it depends on what training changes.
std::vector<bool> leading_to_weights(const Graph& graph);
// Returns how often a node's forward work is done again on the way back.
int64_t times_back(const Node& node, const NodeCount& count, const std::vector<bool>& leads);

}  // namespace deepgap
