// Translates one ONNX operator to StableHLO. Each operators/*.cpp holds a family: functions that read a node through an XlaCall and write
// what stands for it. A static registrar adds them to the table, so that adding an operator is one entry.
#pragma once

#include "backends/xla/hlo_writer.h"
#include "model/node_reader.h"

#include <deepgap/graph.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

// The values of one bound Graph as the program has them.
class XlaValues {
 public:
  // `floats`: the type in which float32 is computed. Constants of more than a few numbers become arguments, in the order of weights().
  XlaValues(const Graph& graph, HloWriter& writer, DataType floats) : graph_(graph), writer_(writer), floats_(floats) {}

  HloValue of(ValueId id);
  void set(ValueId id, HloValue value) { values_[id] = std::move(value); }
  DataType computed(DataType type) const { return type == DataType::f32 ? floats_ : type; }
  const std::vector<Tensor>& weights() const { return weights_; }

 private:
  const Graph& graph_;
  HloWriter& writer_;
  DataType floats_;
  std::map<ValueId, HloValue> values_;
  std::vector<Tensor> weights_;
};

struct XlaCall : NodeReader {
  HloWriter& hlo;
  XlaValues& values;
  bool exact;  // products are computed in the type of their factors, not in TF32

  HloValue in(size_t input) const { return values.of(node.inputs[input]); }
  void out(size_t output, HloValue value) const;
  DataType computed_output(size_t output = 0) const { return values.computed(output_type(output)); }
  // Attributes of products: how exact they are.
  std::string precision() const;
  // What `function` makes of input 0 as float32, in the type of input 0 again: for sums over many numbers of 16 bits.
  void out_of_float32(const std::function<HloValue(const HloValue& x)>& function) const;
};

using XlaOperator = void (*)(const XlaCall& call);
bool add_xla_operator(const char* name, XlaOperator function);
// Throws Error{refused} naming operator and node.
void write_xla_operation(const XlaCall& call);
// Returns why a network is refused by its operators alone; empty if all are known. Shape arithmetic is folded, so more is taken than runs.
std::string xla_operator_refusal(const GraphSummary& graph);

bool is_floating(DataType type);

}  // namespace deepgap
