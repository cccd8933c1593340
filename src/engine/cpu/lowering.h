// Lowering: turns the operations of a bound Graph, one after the other, into the steps of a CpuPlan. The lower_* functions (operators.h)
// ask it for inputs in the layouts that their primitives want, and report to it what they write.
//
// A value may exist in several layouts at once ("variants"); conversions become reorder steps, each made once. A buffer that is read for
// the last time may be written in place. One thread, used during load only.
#pragma once

#include "engine/cpu/plan.h"
#include "engine/cpu/weights.h"
#include "engine/passes/fused.h"

#include <deepgap/graph.h>

#include <functional>
#include <string>
#include <vector>

namespace deepgap {

// In what the heavy operators compute numbers that are not integers, and keep what lies between them. Inputs and outputs of the Graph are
// float32 all the same, and so is what only softmax and the evaluator read.
enum class ComputeType { f32, bf16 };

class Lowering {
 public:
  // `graph` has only known shapes and went through the passes.
  Lowering(const Graph& graph, WeightStore& weights, const dnnl::engine& engine, ComputeType compute_type = ComputeType::f32);

  // Lowers the whole Graph. Throws Error{refused} naming operator and node for one that neither oneDNN nor the evaluator runs.
  CpuPlan lower();

  // --- for the lower_* functions ---
  const Graph& graph() const { return graph_; }
  const dnnl::engine& engine() const { return engine_; }
  dnnl::memory::dims dims(ValueId id) const;  // {1} for a scalar
  DataType type(ValueId id) const { return graph_.values[static_cast<size_t>(id)].type; }
  const Tensor* constant(ValueId id) const;
  dnnl::memory::desc plain(ValueId id) const { return plain_desc(type(id), dims(id)); }
  // Numbers get `type`; anything else keeps its own.
  dnnl::memory::desc plain(ValueId id, dnnl::memory::data_type type) const;
  // Returns the type in which heavy operators compute numbers.
  dnnl::memory::data_type number_type() const;
  // Returns the type in which the operator that makes `id` keeps its elements.
  dnnl::memory::data_type stored_type(ValueId id) const;
  // Returns whether convolutions or pools of integers read it.
  bool feeds_windows(ValueId id) const;

  // Returns the layout the value was made in; reading it so costs nothing.
  dnnl::memory::desc layout(ValueId id) const;
  // Reads the value in `desc`, which has the value's dims.
  StepArgument read(int index, ValueId id, const dnnl::memory::desc& desc);
  // Reads the dense row-major value through `given`, a description of the same bytes with other dims or strides; for a constant in
  // `wanted`, converted at load.
  StepArgument read_viewed(int index, ValueId id, const dnnl::memory::desc& given);
  StepArgument read_constant(int index, ValueId id, const dnnl::memory::desc& given, const dnnl::memory::desc& wanted);
  // Reads a constant as one of our kernels wants it, made once for all plans by `make`, which `layout` names.
  BufferId read_packed(ValueId id, const std::string& layout, const std::function<Tensor()>& make);
  // Reads numbers that are not a value of the Graph.
  StepArgument read_numbers(int index, const std::vector<float>& numbers);
  StepArgument read_integer(int index, int32_t number);

  // Makes a new buffer for `id` in `desc`; no_value: scratch memory of the current step.
  StepArgument write(int index, ValueId id, const dnnl::memory::desc& desc);
  // Writes in place of `over` if its layout is `desc` and nobody needs it afterwards, else as write().
  StepArgument write_over(int index, ValueId id, const dnnl::memory::desc& desc, const StepArgument& over);
  // Used by a step that adds to what its result holds: `id` begins as the content of `of`, whose elements are as large. Takes the buffer of
  // `of` if that dies here and is none of `reads`, else a copy.
  StepArgument take(int index, ValueId id, ValueId of, const dnnl::memory::desc& desc, std::span<const StepArgument> reads);
  // Makes `id` the dense row-major bytes of `of`, under its own shape.
  void alias(ValueId id, ValueId of);

  // Lowers a Graph that a node holds, which went through the passes and outlives the WeightStore. Its constants count as this plan's.
  CpuPlan lower_body(const Graph& body);

  void step(const Operation& operation, dnnl::primitive primitive, std::vector<StepArgument> arguments);
  // Adds a step. `precision`: that of its products.
  void step(const Operation& operation, StepFunction function, std::vector<BufferId> reads, std::vector<BufferId> writes,
            const std::string& precision = "fp32");

 private:
  struct Variant {
    dnnl::memory::desc desc;
    BufferId buffer;
  };

  BufferId add_buffer(Buffer buffer);
  BufferId plain_buffer(ValueId id, dnnl::memory::data_type type);
  void lower_parts(const Node& node);
  Tensor dequantized(const Node& node);
  void count(const Operation& operation, const std::string& precision);
  void find_float_readers();
  bool dies_here(BufferId buffer) const;  // true if nobody needs its content after the current node
  void lower_node(const Node& node);
  bool makes_what_is_read(const Node& node) const;
  void finish_outputs();
  void bind_output(size_t position, ValueId id);
  void copy_step(const std::string& name, const StepArgument& from, const StepArgument& to);
  void add_variant(ValueId id, const dnnl::memory::desc& desc, BufferId buffer);

  Graph graph_;
  WeightStore& weights_;
  dnnl::engine engine_;
  ComputeType compute_type_;
  std::vector<bool> wanted_f32_;  // per value: a reader computes in float32
  CpuPlan plan_;
  std::vector<std::vector<Variant>> variants_;   // per value
  std::vector<int> pending_;                     // per value: reads by nodes after the current one, plus one for a graph output
  std::vector<std::vector<ValueId>> residents_;  // per buffer: the values in it
};

}  // namespace deepgap
