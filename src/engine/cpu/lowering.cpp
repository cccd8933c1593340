#include "engine/cpu/lowering.h"

#include "engine/cpu/operators.h"
#include "model/graph_tools.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

namespace deepgap {

using dnnl::memory;

Lowering::Lowering(const Graph& graph, WeightStore& weights, const dnnl::engine& engine)
    : graph_(graph), weights_(weights), engine_(engine), variants_(graph.values.size()), pending_(graph.values.size(), 0) {
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
    if (variant.desc == desc || (is_plain(desc) && is_plain(variant.desc) && variant.desc.get_size() == desc.get_size()))
      return {index, desc, variant.buffer};
  const StepArgument from{DNNL_ARG_FROM, variants.front().desc, variants.front().buffer};
  const StepArgument to{DNNL_ARG_TO, desc, add_buffer({Buffer::Kind::arena, desc.get_size(), nullptr, 0})};
  copy_step("reorder " + graph_.values[static_cast<size_t>(id)].name, from, to);
  add_variant(id, desc, to.buffer);
  return {index, desc, to.buffer};
}

StepArgument Lowering::read_viewed(int index, ValueId id, const memory::desc& given) { return {index, given, plain_buffer(id)}; }

StepArgument Lowering::read_constant(int index, ValueId id, const memory::desc& given, const memory::desc& wanted) {
  auto data = weights_.get(*constant(id), given, wanted);
  return {index, wanted, add_buffer({Buffer::Kind::constant, wanted.get_size(), std::move(data), 0})};
}

StepArgument Lowering::read_numbers(int index, const std::vector<float>& numbers) {
  Tensor tensor = make_tensor(DataType::f32, {static_cast<int64_t>(numbers.size())});
  std::copy(numbers.begin(), numbers.end(), writable<float>(tensor).begin());
  return {index, plain_desc(DataType::f32, tensor.shape), add_buffer({Buffer::Kind::constant, tensor.bytes(), tensor.data, 0})};
}

BufferId Lowering::plain_buffer(ValueId id) { return read(0, id, plain(id)).buffer; }

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
  StepArgument source = read(index, of, desc);
  const bool is_read = std::any_of(reads.begin(), reads.end(), [&](const StepArgument& other) { return other.buffer == source.buffer; });
  if (dies_here(source.buffer) && !is_read) {
    add_variant(id, desc, source.buffer);
    return source;
  }
  StepArgument copy = write(index, id, desc);
  copy_step("copy " + graph_.values[static_cast<size_t>(of)].name, source, copy);
  return copy;
}

void Lowering::alias(ValueId id, ValueId of) { add_variant(id, plain(id), plain_buffer(of)); }

void Lowering::copy_step(const std::string& name, const StepArgument& from, const StepArgument& to) {
  Step step{.name = name, .op = "Reorder", .reads = {from.buffer}, .writes = {to.buffer}};
  if (from.desc == to.desc) {
    step.function = [bytes = to.desc.get_size()](std::span<std::byte* const> at) { std::memcpy(at[1], at[0], bytes); };
  } else {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::reorder::primitive_desc description(engine_, from.desc, engine_, to.desc, attributes);
    step.primitive = dnnl::reorder(description);
    step.arguments = {{DNNL_ARG_FROM, from.desc, from.buffer}, {DNNL_ARG_TO, to.desc, to.buffer}};
    if (const auto scratch = description.scratchpad_desc(); scratch.get_size() != 0)
      step.arguments.push_back(write(DNNL_ARG_SCRATCHPAD, no_value, scratch));
  }
  plan_.steps.push_back(std::move(step));
}

void Lowering::step(const Operation& operation, dnnl::primitive primitive, std::vector<StepArgument> arguments) {
  Step step{.name = operation.name, .op = operation.main.op, .primitive = std::move(primitive), .arguments = std::move(arguments)};
  plan_.steps.push_back(std::move(step));
}

void Lowering::step(const Operation& operation, StepFunction function, std::vector<BufferId> reads, std::vector<BufferId> writes) {
  plan_.steps.push_back({.name = operation.name,
                         .op = operation.main.op,
                         .function = std::move(function),
                         .reads = std::move(reads),
                         .writes = std::move(writes)});
}

void Lowering::lower_node(const Node& node) {
  for (ValueId id : node.inputs)
    if (id != no_value) --pending_[static_cast<size_t>(id)];
  const Operation operation = operation_of(graph_, node);
  if (lower_fast(*this, operation)) return;
  for (ValueId id : node.outputs)  // what an attempt left
    if (id != no_value) variants_[static_cast<size_t>(id)].clear();
  lower_fallback(*this, operation);
}

CpuPlan Lowering::lower() {
  for (const auto& node : graph_.nodes) lower_node(node);
  finish_outputs();
  return std::move(plan_);
}

// An output's dense row-major buffer becomes external, so that its last step writes where the caller reads, or is copied there.
void Lowering::bind_output(size_t position, ValueId id) {
  const BufferId buffer = plain_buffer(id);
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
