// Model: a network with its weights, as a Backend receives it. Implemented in src/model/model_source.cpp; plug-ins only use it.
#pragma once

#include <deepgap/graph.h>

#include <span>
#include <string>
#include <vector>

namespace deepgap {

// Thread-safe after construction. Everything returned lives as long as the Model.
class Model {
 public:
  virtual ~Model() = default;
  virtual const std::string& name() const = 0;
  // Returns the Graph. Shapes other than the batch are bound; the batch is `batch_symbol` where the network leaves it open.
  virtual const Graph& graph() const = 0;
  virtual const GraphSummary& summary() const = 0;
  // Returns the same Graph, written by us as ONNX on the first call and kept. Throws Error{internal} when it passes protobuf's 2 GiB.
  virtual std::span<const std::byte> onnx() const = 0;
  // Returns the path the user gave, or empty for a zoo model. Used for what passes protobuf's 2 GiB.
  virtual const std::string& file() const = 0;
  // Returns the multiply-accumulates of one item, beside graph().nodes; empty if not known. Their sum is summary().macs_per_item.
  virtual std::vector<int64_t> node_macs() const { return {}; }
};

}  // namespace deepgap
