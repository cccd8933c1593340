// The parts of a GraphProto as the reader collects them, before names become ValueIds. Text aliases the file's bytes. Used by the ONNX
// reader only.
#pragma once

#include "model/onnx_functions.h"
#include "model/onnx_tensor.h"

#include <deepgap/graph.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

// The state that one file's graphs share: the limits, how much of them is used, and the files beside it.
struct ReadState {
  OnnxLimits limits;
  ExternalData external;
  LocalFunctions functions = {};
  int opset = 0;
  int64_t nodes = 0;
  int64_t values = 0;

  void count_node();  // throw Error{input} past the cap
  void count_value();
};

struct NodePart {
  std::string_view name, op, domain;
  std::vector<std::string_view> inputs, outputs;
  std::map<std::string, Attribute> attributes;
};

struct ValuePart {
  std::string_view name;
  std::optional<DataType> type;  // nullopt: not said
  std::optional<Dims> dims;
};

struct GraphParts {
  std::string_view name;
  std::vector<NodePart> nodes;
  std::vector<NamedTensor> initializers;
  std::vector<ValuePart> inputs, outputs, inner;
};

// Throw Error{input} without the path. `depth` counts the subgraphs around this one; `scope` is the call of a function that it lies in.
// Calls of functions are inlined.
GraphParts parse_graph_parts(WireReader message, ReadState& state, int depth, FunctionScope* scope = nullptr);
// Names to ids, nodes in topological order, Constant nodes as constants. `outer` is whether a subgraph may read values of the graph around
// it: such a value belongs to the subgraph's values, and nothing there makes it.
Graph assemble_graph(GraphParts parts, ReadState& state, bool has_outer);

}  // namespace deepgap
