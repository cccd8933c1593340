// Counts from a Graph what an engine that fuses would launch, kernel by kernel, so that times can be predicted where nothing ran.
#pragma once

#include "model/graph_tools.h"

#include <deepgap/graph.h>

#include <cstdint>
#include <string>
#include <vector>

namespace deepgap {

struct KernelWork {
  // The kind of its arithmetic; a depthwise convolution has too little to count as one.
  enum class Kind { convolution, product, other };
  Kind kind = Kind::other;
  std::string name;  // name of its first node
  int64_t macs = 0;
  int64_t activations = 0;  // elements read and written, each once
  int64_t weights = 0;      // elements
};

// The work for one item; weights count once for any batch.
struct NetworkWork {
  std::vector<KernelWork> kernels;
  int64_t inputs = 0;            // elements
  int64_t weights = 0;           // elements, of all kernels
  int64_t live_activations = 0;  // most elements that are needed at one time, in the Graph's order
};

// Returns the kind of arithmetic of a node that has so many multiply-accumulates.
KernelWork::Kind arithmetic_kind(const Graph& bound, const Node& node, const NodeCount& count);

// Throws Error{usage} with what to do where a size other than the batch is open.
void require_closed_sizes(const Graph& graph);

// Pointwise operators join the kernel that makes their input where nothing else reads it, a Softmax and the product after it likewise;
// views and transposed values cost nothing. Nodes whose sizes only the run knows count as nothing. Throws Error{usage} where sizes other
// than the batch are open.
NetworkWork network_work(const Graph& graph);

}  // namespace deepgap
