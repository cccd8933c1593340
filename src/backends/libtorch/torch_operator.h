// Translates one ONNX operator to calls of ATen. Each operators/*.cpp holds a family: functions from a TorchCall, which reads attributes
// and constants once at load, to a TorchStep, which runs for every batch. A static registrar adds them to the table, so that adding an
// operator is one entry.
#pragma once

#include "backends/libtorch/torch_operators.h"
#include "backends/libtorch/torch_target.h"
#include "model/node_reader.h"

#include <deepgap/error.h>
#include <deepgap/graph.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace deepgap {

// The view of a step while it runs: its inputs (undefined where an optional one is left out) and the places of its outputs.
class TorchFrame {
 public:
  TorchFrame(at::Tensor* values, std::span<const int32_t> inputs, std::span<const int32_t> outputs)
      : values_(values), inputs_(inputs), outputs_(outputs) {}
  const at::Tensor& in(size_t i) const { return values_[inputs_[i]]; }
  size_t inputs() const { return inputs_.size(); }
  at::Tensor& out(size_t i) { return values_[outputs_[i]]; }
  size_t outputs() const { return outputs_.size(); }

 private:
  at::Tensor* values_;
  std::span<const int32_t> inputs_, outputs_;
};
using TorchStep = std::function<void(TorchFrame&)>;

// The view of an operator's function at load: its node in a Graph whose sizes are bound and whose shape arithmetic is folded.
struct TorchCall : NodeReader {
  const TorchTarget& target;
};

using TorchOperator = TorchStep (*)(const TorchCall&);
bool add_torch_operator(const char* name, TorchOperator function);
// Throws Error{refused} naming operator and node for one that is not in the table.
TorchStep make_torch_step(const TorchCall& call);

// A step of one output.
template <typename Function>
TorchStep one_output(Function function) {
  return [function = std::move(function)](TorchFrame& frame) { frame.out(0) = function(frame); };
}

}  // namespace deepgap
