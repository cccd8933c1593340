// Lowering: turns the operations of a bound Graph, one after the other, into the steps of a GpuPlan. The lower_* functions (operators.h)
// ask it for inputs in the forms that their kernels want, and report to it what they write.
//
// A value may lie in several forms at once; conversions become steps, each made once. One thread, used during load only. Calls no driver.
#pragma once

#include "engine/gpu/form.h"
#include "engine/gpu/plan.h"
#include "engine/passes/fused.h"
#include "model/node_reader.h"

#include <deepgap/graph.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace deepgap::gpu {

struct GpuNumbers {
  ComputeType compute = ComputeType::f32;  // precision of convolutions and products of numbers
  Element stored = Element::f32;           // type in which numbers are kept between operators
  bool products_in_float8 = false;         // those of float8.h; the chip has it
};

// Chooses a kernel if a chip has several for the same work.
struct KernelChoices {
  bool hopper_attention = true;  // uses the kernel for sm_90a, for the heads that suit it
};

// A value as a kernel meets it.
struct Operand {
  BufferId buffer = -1;
  Form form;
  Shape shape;
  std::vector<int64_t> strides;  // by axis of shape
  bool rounded = false;          // to TF32 as it is stored, since products read it and cut off what does not fit
};

// Rows that lie within longer rows of another value: columns first .. first + columns of each row of `of`.
struct Part {
  ValueId of = no_value;
  int64_t first = 0, columns = 0;
};

class Lowering {
 public:
  // `graph` has only known shapes and went through the passes.
  Lowering(const Graph& graph, const GpuNumbers& numbers, const Chip& chip, const KernelChoices& choices = {});

  // Lowers the whole Graph. Throws Error{refused} naming operator and node for one without a kernel.
  GpuPlan lower();

  // --- for the lower_* functions ---
  const Graph& graph() const { return graph_; }
  const GpuNumbers& numbers() const { return numbers_; }
  const Chip& chip() const { return chip_; }
  const KernelChoices& choices() const { return choices_; }
  const Shape& shape(ValueId id) const { return shapes_.at(static_cast<size_t>(id)); }
  DataType type(ValueId id) const { return graph_.values[static_cast<size_t>(id)].type; }
  const Tensor* constant(ValueId id) const;
  NodeReader reader(const Node& node) const { return {"native", graph_, node}; }
  // Returns the type in which the operator that makes the value keeps it.
  Element stored(ValueId id) const;

  // Returns the value as it was made; a constant plainly, in its own type.
  Operand native(ValueId id);
  // Returns the same, but a constant of float32 in the type that numbers are stored in, if that has 16 bits.
  Operand as_stored(ValueId id, Element element);
  Operand read(ValueId id, const Form& form);
  Operand write(ValueId id, const Form& form);
  // Returns scratch memory of the current step.
  BufferId scratch(size_t bytes);
  BufferId constant_bytes(std::vector<std::byte> bytes);
  // Makes `id` the bytes of `of`, under its own shape and in `form`.
  void alias(ValueId id, const Operand& of, const Form& form);
  // Notes where `id` also lies, for readers that can use it; its own copy is made all the same, and dropped if nobody reads that.
  void note_part(ValueId id, const Part& part) { parts_[id] = part; }
  const Part* part(ValueId id) const;
  // Adds a value that is not one of the Graph's, such as what lies between a product and what follows it.
  ValueId add_value(DataType type, const Shape& shape);
  ValueId add_constant(const Tensor& tensor);

  // The step stays where it is until the next one is made.
  Step& step(const Operation& operation, Launch launch, const std::vector<Operand>& reads, const std::vector<Operand>& writes);
  void step(Step step) { plan_.steps.push_back(std::move(step)); }
  // Counts the operation's multiply-accumulates as done in `precision`.
  void count(const Operation& operation, const std::string& precision);
  void count(int64_t macs, const std::string& precision);

  [[noreturn]] void refuse(const Operation& operation, const std::string& why) const;

 private:
  struct Variant {
    Form form;
    BufferId buffer;
  };

  BufferId add_buffer(Buffer buffer);
  Operand operand(ValueId id, const Variant& variant) const;
  Operand constant_operand(ValueId id);
  Operand convert(ValueId id, const Operand& from, const Form& to);
  void add_inputs();
  void lower_node(const Node& node);
  void lower_parts(const Node& node);
  void bind_output(size_t position, ValueId id);
  void drop_unread();

  Graph graph_;
  GpuNumbers numbers_;
  Chip chip_;
  KernelChoices choices_;
  GpuPlan plan_;
  std::vector<Shape> shapes_;                   // by value
  std::vector<std::vector<Variant>> variants_;  // by value
  std::map<ValueId, Variant> narrowed_;         // constants as as_stored keeps them
  std::map<ValueId, Part> parts_;
  std::set<ValueId> float8_;      // values that are kept in FP8
  std::set<ValueId> multiplied_;  // values that are rounded for products in TF32
};

}  // namespace deepgap::gpu
