#include "engine/cpu/lowering.h"

#include "engine/cpu/operators.h"
#include "engine/passes/chains.h"
#include "model/eval/evaluator.h"
#include "model/graph_tools.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

namespace deepgap {

using dnnl::memory;

Lowering::Lowering(const Graph& graph, WeightStore& weights, const dnnl::engine& engine, ComputeType compute_type)
    : graph_(graph),
      weights_(weights),
      engine_(engine),
      compute_type_(compute_type),
      variants_(graph.values.size()),
      pending_(graph.values.size(), 0) {
  find_float_readers();
  for (const auto& node : graph.nodes)
    for (ValueId id : node.inputs)
      if (id != no_value) ++pending_[static_cast<size_t>(id)];
  for (ValueId id : graph.outputs) ++pending_[static_cast<size_t>(id)];
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const ValueId id = graph.inputs[i];
    const auto desc = plain(id);
    add_variant(id, desc, add_buffer({Buffer::Kind::input, desc.get_size(), nullptr, i}));
  }
}

memory::dims Lowering::dims(ValueId id) const {
  const Shape shape = known_shape(graph_, id);
  return shape.empty() ? memory::dims{1} : memory::dims(shape.begin(), shape.end());
}

memory::data_type Lowering::number_type() const {
  return compute_type_ == ComputeType::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
}

memory::data_type Lowering::stored_type(ValueId id) const {
  if (type(id) != DataType::f32) return plain(id).get_data_type();
  return wanted_f32_[static_cast<size_t>(id)] ? memory::data_type::f32 : number_type();
}

memory::desc Lowering::plain(ValueId id, memory::data_type element) const {
  const bool number = type(id) == DataType::f32;
  return number ? plain_desc(element == memory::data_type::bf16 ? DataType::bf16 : DataType::f32, dims(id)) : plain(id);
}

bool Lowering::feeds_windows(ValueId id) const {
  return std::any_of(graph_.nodes.begin(), graph_.nodes.end(), [&](const Node& node) {
    if (std::find(node.inputs.begin(), node.inputs.end(), id) == node.inputs.end()) return false;
    const auto op = operation_of(graph_, node).main.op;
    return op == "Conv" || op == "ConvTranspose" || op.ends_with("Pool");
  });
}

void Lowering::find_float_readers() {
  wanted_f32_.assign(graph_.values.size(), false);
  for (ValueId id : graph_.outputs) wanted_f32_[static_cast<size_t>(id)] = true;
  for (const auto& node : graph_.nodes)
    for (ValueId id : node.inputs)
      if (id != no_value && computes_in_f32(node)) wanted_f32_[static_cast<size_t>(id)] = true;
}

const Tensor* Lowering::constant(ValueId id) const { return id == no_value ? nullptr : constant_of(graph_, id); }

memory::desc Lowering::layout(ValueId id) const {
  const auto& variants = variants_[static_cast<size_t>(id)];
  return variants.empty() ? plain(id) : variants.front().desc;
}

BufferId Lowering::add_buffer(Buffer buffer) {
  plan_.buffers.push_back(std::move(buffer));
  residents_.emplace_back();
  return static_cast<BufferId>(plan_.buffers.size() - 1);
}

void Lowering::add_variant(ValueId id, const memory::desc& desc, BufferId buffer) {
  variants_[static_cast<size_t>(id)].push_back({desc, buffer});
  residents_[static_cast<size_t>(buffer)].push_back(id);
}

StepArgument Lowering::read(int index, ValueId id, const memory::desc& desc) {
  if (constant(id) != nullptr) return read_constant(index, id, plain(id), desc);
  auto& variants = variants_[static_cast<size_t>(id)];
  for (const auto& variant : variants)
    if (variant.desc == desc || (variant.desc.get_data_type() == desc.get_data_type() && is_plain(desc) && is_plain(variant.desc) &&
                                 variant.desc.get_size() == desc.get_size()))
      return {index, desc, variant.buffer};
  const StepArgument from{DNNL_ARG_FROM, variants.front().desc, variants.front().buffer};
  const StepArgument to{DNNL_ARG_TO, desc, add_buffer({Buffer::Kind::arena, desc.get_size(), nullptr, 0})};
  copy_step("reorder " + graph_.values[static_cast<size_t>(id)].name, from, to);
  add_variant(id, desc, to.buffer);
  return {index, desc, to.buffer};
}

StepArgument Lowering::read_viewed(int index, ValueId id, const memory::desc& given) {
  return {index, given, plain_buffer(id, given.get_data_type())};
}

StepArgument Lowering::read_constant(int index, ValueId id, const memory::desc& given, const memory::desc& wanted) {
  auto data = weights_.get(*constant(id), given, wanted);
  return {index, wanted, add_buffer({Buffer::Kind::constant, wanted.get_size(), std::move(data), 0})};
}

BufferId Lowering::read_packed(ValueId id, const std::string& layout, const std::function<Tensor()>& make) {
  const Tensor packed = weights_.packed(*constant(id), layout, make);
  return add_buffer({Buffer::Kind::constant, packed.bytes(), packed.data, 0});
}

StepArgument Lowering::read_numbers(int index, const std::vector<float>& numbers) {
  Tensor tensor = make_tensor(DataType::f32, {static_cast<int64_t>(numbers.size())});
  std::copy(numbers.begin(), numbers.end(), writable<float>(tensor).begin());
  return {index, plain_desc(DataType::f32, tensor.shape), add_buffer({Buffer::Kind::constant, tensor.bytes(), tensor.data, 0})};
}

StepArgument Lowering::read_integer(int index, int32_t number) {
  Tensor tensor = make_tensor(DataType::i32, {1});
  writable<int32_t>(tensor)[0] = number;
  const memory::desc desc({1}, memory::data_type::s32, memory::dims{1});
  return {index, desc, add_buffer({Buffer::Kind::constant, tensor.bytes(), tensor.data, 0})};
}

BufferId Lowering::plain_buffer(ValueId id, memory::data_type type) { return read(0, id, plain(id, type)).buffer; }

StepArgument Lowering::write(int index, ValueId id, const memory::desc& desc) {
  const BufferId buffer = add_buffer({Buffer::Kind::arena, desc.get_size(), nullptr, 0});
  if (id != no_value) add_variant(id, desc, buffer);
  return {index, desc, buffer};
}

bool Lowering::dies_here(BufferId buffer) const {
  if (plan_.buffers[static_cast<size_t>(buffer)].kind != Buffer::Kind::arena) return false;
  const auto& residents = residents_[static_cast<size_t>(buffer)];
  return std::all_of(residents.begin(), residents.end(), [&](ValueId id) { return pending_[static_cast<size_t>(id)] == 0; });
}

StepArgument Lowering::write_over(int index, ValueId id, const memory::desc& desc, const StepArgument& over) {
  if (!dies_here(over.buffer) || over.desc != desc) return write(index, id, desc);
  add_variant(id, desc, over.buffer);
  return {index, desc, over.buffer};
}

StepArgument Lowering::take(int index, ValueId id, ValueId of, const memory::desc& desc, std::span<const StepArgument> reads) {
  const auto held = retyped(desc, type(of) == DataType::f32 ? desc.get_data_type() : plain(of).get_data_type());
  if (!held) throw dnnl::error(dnnl_unimplemented, "a layout in blocks cannot hold integers of another type");
  StepArgument source = read(index, of, *held);
  const bool is_read = std::any_of(reads.begin(), reads.end(), [&](const StepArgument& other) { return other.buffer == source.buffer; });
  if (dies_here(source.buffer) && !is_read) {
    add_variant(id, desc, source.buffer);
    return {index, desc, source.buffer};
  }
  StepArgument copy = write(index, id, desc);
  copy_step("copy " + graph_.values[static_cast<size_t>(of)].name, source, {index, *held, copy.buffer});
  return copy;
}

void Lowering::alias(ValueId id, ValueId of) {
  const auto type = layout(of).get_data_type();
  add_variant(id, plain(id, type), plain_buffer(of, type));
}

void Lowering::copy_step(const std::string& name, const StepArgument& from, const StepArgument& to) {
  Step step{.name = name, .op = "Reorder", .reads = {from.buffer}, .writes = {to.buffer}};
  if (from.desc == to.desc) {
    step.function = [bytes = to.desc.get_size()](std::span<std::byte* const> at) { std::memcpy(at[1], at[0], bytes); };
  } else {
    auto attributes = user_scratchpad();
    const dnnl::reorder::primitive_desc description(engine_, from.desc, engine_, to.desc, attributes);
    step.primitive = dnnl::reorder(description);
    step.arguments = {{DNNL_ARG_FROM, from.desc, from.buffer}, {DNNL_ARG_TO, to.desc, to.buffer}};
    if (const auto scratch = description.scratchpad_desc(); scratch.get_size() != 0)
      step.arguments.push_back(write(DNNL_ARG_SCRATCHPAD, no_value, scratch));
  }
  plan_.steps.push_back(std::move(step));
}

namespace {

// The type of what a primitive reads is the type it multiplies in.
std::string precision_of(const Step& step) {
  for (const auto& argument : step.arguments) {
    if (argument.index != DNNL_ARG_SRC) continue;
    const auto type = argument.desc.get_data_type();
    if (type == memory::data_type::bf16) return "bf16";
    if (type == memory::data_type::u8 || type == memory::data_type::s8) return "int8";
  }
  return "fp32";
}

}  // namespace

void Lowering::step(const Operation& operation, dnnl::primitive primitive, std::vector<StepArgument> arguments) {
  Step step{.name = operation.name, .op = operation.main.op, .primitive = std::move(primitive), .arguments = std::move(arguments)};
  count(operation, precision_of(step));
  plan_.steps.push_back(std::move(step));
}

void Lowering::step(const Operation& operation, StepFunction function, std::vector<BufferId> reads, std::vector<BufferId> writes,
                    const std::string& precision) {
  Step step{.name = operation.name,
            .op = operation.main.op,
            .function = std::move(function),
            .reads = std::move(reads),
            .writes = std::move(writes)};
  count(operation, precision);
  plan_.steps.push_back(std::move(step));
}

void Lowering::count(const Operation& operation, const std::string& precision) {
  const auto macs_of = [](const Graph& graph, const Node& node) { return is_dense_main(node) ? count_node(graph, node).macs : 0; };
  const Node& main = operation.main;
  if (main.domain.empty() && (main.op == "MatMulInteger" || main.op == "ConvInteger")) {
    plan_.macs["int8"] += count_node(graph_, main).macs;
    return;
  }
  int64_t macs = operation.body == nullptr ? macs_of(graph_, *operation.node) : 0;
  if (operation.body != nullptr)
    for (const auto& node : operation.body->nodes) macs += macs_of(*operation.body, node);
  if (macs > 0) plan_.macs[precision] += macs;
}

Tensor Lowering::dequantized(const Node& node) {
  std::vector<Tensor> inputs;
  for (ValueId id : node.inputs) inputs.push_back(id == no_value ? Tensor{} : *constant(id));
  return weights_.derived(inputs[0], inputs[1], [&] { return evaluate_node(graph_, node, inputs).at(0); });
}

// A fused node of integers that oneDNN does not do so: its DequantizeLinear nodes, the rest in floating point, its QuantizeLinear.
void Lowering::lower_parts(const Node& node) {
  const auto add = [&](const Graph& body, ValueId id) {
    graph_.values.push_back(body.values[static_cast<size_t>(id)]);
    variants_.emplace_back();
    pending_.push_back(0);
    wanted_f32_.push_back(false);
    return static_cast<ValueId>(graph_.values.size() - 1);
  };
  std::vector<Node> parts, together;  // nodes between conversions are fused
  const auto close = [&] {
    if (together.size() > 1) together = {fused_node(graph_, together)};
    parts.insert(parts.end(), together.begin(), together.end());
    together.clear();
  };
  std::vector<Node> conversions;  // conversions of inputs come before everything
  for (Node& part : parts_of(node, add)) {
    const bool reads_input = std::find(node.inputs.begin(), node.inputs.end(), part.inputs[0]) != node.inputs.end();
    if (is_dequantize(part) && constant(part.inputs[0]) != nullptr) {
      graph_.constants[part.outputs[0]] = dequantized(part);
    } else if (is_dequantize(part) && reads_input) {
      conversions.push_back(std::move(part));
    } else if (is_dequantize(part) || is_quantize(part)) {
      close();
      parts.push_back(std::move(part));
    } else {
      together.push_back(std::move(part));
    }
  }
  close();
  parts.insert(parts.begin(), conversions.begin(), conversions.end());
  for (const auto& part : parts)
    for (ValueId id : part.inputs)
      if (id != no_value) ++pending_[static_cast<size_t>(id)];
  for (const auto& part : parts) lower_node(part);
}

// Kernels make first outputs; a mask or running statistics beside them only the evaluator.
bool Lowering::makes_what_is_read(const Node& node) const {
  return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
    if (id == no_value || !variants_[static_cast<size_t>(id)].empty()) return true;
    return pending_[static_cast<size_t>(id)] == 0 && std::find(graph_.outputs.begin(), graph_.outputs.end(), id) == graph_.outputs.end();
  });
}

void Lowering::lower_node(const Node& node) {
  for (ValueId id : node.inputs)
    if (id != no_value) --pending_[static_cast<size_t>(id)];
  const Operation operation = operation_of(graph_, node);
  if (lower_fast(*this, operation) && makes_what_is_read(node)) return;
  for (ValueId id : node.outputs)  // removes the remains of an attempt
    if (id != no_value) variants_[static_cast<size_t>(id)].clear();
  if (operation.body != nullptr && operation.is_quantized()) {
    lower_parts(node);
  } else {
    lower_fallback(*this, operation);
  }
}

CpuPlan Lowering::lower_body(const Graph& body) {
  CpuPlan plan = Lowering(body, weights_, engine_, compute_type_).lower();
  for (const Buffer& buffer : plan.buffers)
    if (buffer.data) add_buffer(buffer);
  for (const auto& [precision, macs] : plan.macs) plan_.macs[precision] += macs;
  return plan;
}

CpuPlan Lowering::lower() {
  for (const Node& node : graph_.nodes) lower_node(node);
  finish_outputs();
  return std::move(plan_);
}

// An output's dense row-major buffer becomes external, so that its last step writes where the caller reads, or is copied there.
void Lowering::bind_output(size_t position, ValueId id) {
  const BufferId buffer = plain_buffer(id, memory::data_type::f32);
  auto& made = plan_.buffers[static_cast<size_t>(buffer)];
  const auto bytes = static_cast<size_t>(element_count(known_shape(graph_, id))) * byte_size(type(id));
  if (made.kind == Buffer::Kind::arena && made.bytes == bytes) {
    made.kind = Buffer::Kind::output;
    made.external = position;
    return;
  }
  const BufferId target = add_buffer({Buffer::Kind::output, bytes, nullptr, position});
  plan_.steps.push_back({.name = "copy " + graph_.values[static_cast<size_t>(id)].name,
                         .op = "Copy",
                         .function = [bytes](std::span<std::byte* const> at) { std::memcpy(at[1], at[0], bytes); },
                         .reads = {buffer},
                         .writes = {target}});
}

void Lowering::finish_outputs() {
  for (size_t i = 0; i < graph_.outputs.size(); ++i) bind_output(i, graph_.outputs[i]);
}

}  // namespace deepgap
