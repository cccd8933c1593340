// Graph: deepgap's in-memory form of a network. Plain data, no behaviour: reading, writing, shape inference, counting and evaluation
// are functions in src/model. Operators and attributes have ONNX's names and meaning at `opset` (default domain ""), so that an
// operator's contract is the ONNX specification.
//
// A Graph that left the reader or the zoo is valid: names are unique, every input of a node is a graph input, a constant or an output of an
// earlier node (topological order), and types and shapes are inferred as far as they can be known.
#pragma once

#include <deepgap/tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace deepgap {

// One size of a shape: a known number (symbol empty), or `size` times a symbol that is bound at load, such as N or 49*N.
struct Dim {
  int64_t size = 0;
  std::string symbol;

  bool known() const { return symbol.empty(); }
  auto operator<=>(const Dim&) const = default;
};
using Dims = std::vector<Dim>;

// The symbol that stands for the batch size. The reader gives it to the first dimension of every input that is dynamic there.
inline constexpr const char* batch_symbol = "N";

using ValueId = int32_t;
inline constexpr ValueId no_value = -1;  // an optional input or output left out

struct Value {
  std::string name;
  DataType type = DataType::f32;
  std::optional<Dims> dims;  // nullopt: rank not known
};

struct Graph;
using Attribute = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>, std::vector<std::string>, Tensor,
                               std::shared_ptr<const Graph>>;

struct Node {
  std::string name;    // never empty: the reader makes one up from operator and position
  std::string op;      // "Conv"
  std::string domain;  // "" is ONNX's own
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::map<std::string, Attribute> attributes;
};

struct Graph {
  std::string name;
  int opset = 17;
  std::vector<Value> values;            // index = ValueId
  std::vector<Node> nodes;              // topological order
  std::map<ValueId, Tensor> constants;  // initialisers
  std::vector<ValueId> inputs;          // without those that are constants
  std::vector<ValueId> outputs;
};

// Facts about a Graph that can be kept without it: made in a limited child, passed to supports() and kept in Records.
struct TensorInfo {
  std::string name;
  DataType type = DataType::f32;
  std::optional<Dims> dims;
};
struct OperatorUse {
  std::string op;
  std::string domain;
  int64_t count = 0;
  std::string first_node;  // named in a refusal
};
struct GraphSummary {
  std::string name;
  int opset = 0;
  int64_t nodes = 0;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<OperatorUse> operators;  // sorted by op
  int64_t parameters = 0;              // elements of floating-point constants that are weights; BatchNorm's statistics do not count
  int64_t weight_bytes = 0;
  int64_t macs_per_item = 0;   // multiply-accumulates of one item (batch 1), see model/counts.h
  int64_t flop_per_item = 0;   // multiply and add counted as two
  int64_t bytes_per_item = 0;  // activations read and written once plus weights, at batch 1
  std::string content_hash;    // hex of a 128-bit hash of structure and weights
};

}  // namespace deepgap
