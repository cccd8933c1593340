#include "engine/gpu/lowering.h"

#include "engine/gpu/float8.h"
#include "engine/gpu/generated.h"
#include "engine/gpu/multiplied.h"
#include "engine/gpu/operators.h"
#include "engine/passes/chains.h"
#include "model/eval/evaluator.h"
#include "model/graph_tools.h"

#include <deepgap/error.h>

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <iterator>

namespace deepgap::gpu {

Lowering::Lowering(const Graph& graph, const GpuNumbers& numbers, const Chip& chip, const KernelChoices& choices)
    : graph_(graph), numbers_(numbers), chip_(chip), choices_(choices), variants_(graph.values.size()) {
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const auto& dims = graph.values[i].dims;
    const bool known = dims && std::all_of(dims->begin(), dims->end(), [](const Dim& dim) { return dim.known(); });
    shapes_.push_back(known ? known_shape(graph, static_cast<ValueId>(i)) : Shape{});
  }
  if (numbers.products_in_float8) float8_ = values_in_float8(graph);
  if (numbers.compute == ComputeType::tf32) multiplied_ = multiplied_values(graph);
}

const Tensor* Lowering::constant(ValueId id) const { return id == no_value ? nullptr : constant_of(graph_, id); }

Element Lowering::stored(ValueId id) const {
  if (type(id) != DataType::f32) return element_of(type(id));
  return float8_.contains(id) ? Element::e4m3 : numbers_.stored;
}

BufferId Lowering::add_buffer(Buffer buffer) {
  plan_.buffers.push_back(std::move(buffer));
  return static_cast<BufferId>(plan_.buffers.size() - 1);
}

BufferId Lowering::scratch(size_t bytes) { return add_buffer({.bytes = bytes}); }

BufferId Lowering::constant_bytes(std::vector<std::byte> bytes) {
  const size_t size = bytes.size();
  return add_buffer(
      {.kind = Buffer::Kind::constant, .bytes = size, .data = std::make_shared<const std::vector<std::byte>>(std::move(bytes))});
}

Operand Lowering::operand(ValueId id, const Variant& variant) const {
  return {variant.buffer, variant.form, shape(id), strides_of(shape(id), variant.form)};
}

Operand Lowering::constant_operand(ValueId id) {
  const Tensor& tensor = *constant(id);
  auto& variants = variants_[static_cast<size_t>(id)];
  if (variants.empty())
    variants.push_back(
        {plain_form(element_of(tensor.type), tensor.shape), constant_bytes({tensor.data.get(), tensor.data.get() + tensor.bytes()})});
  return operand(id, variants.front());
}

Operand Lowering::native(ValueId id) {
  const auto& variants = variants_[static_cast<size_t>(id)];
  if (variants.empty() && constant(id) != nullptr) return constant_operand(id);
  if (variants.empty())
    throw Error(ErrorKind::internal, fmt::format("value {} is read before it is made", graph_.values[static_cast<size_t>(id)].name));
  return operand(id, variants.front());
}

Operand Lowering::as_stored(ValueId id, Element element) {
  const Tensor* tensor = constant(id);
  if (tensor == nullptr || tensor->type != DataType::f32 || !is_half(element)) return native(id);
  if (const auto known = narrowed_.find(id); known != narrowed_.end()) return operand(id, known->second);
  const Form form = plain_form(element, tensor->shape);
  std::vector<std::byte> bytes(bytes_of(tensor->shape, form));
  for (size_t i = 0; i < bytes.size() / byte_size(element); ++i) {
    float value = 0;
    std::memcpy(&value, tensor->data.get() + i * sizeof value, sizeof value);  // the bytes may be unaligned
    put_number(bytes, i, element, value);
  }
  return operand(id, narrowed_.emplace(id, Variant{form, constant_bytes(std::move(bytes))}).first->second);
}

Operand Lowering::read(ValueId id, const Form& form) {
  const Operand made = native(id);
  for (const Variant& variant : variants_[static_cast<size_t>(id)])
    if (same_places(shape(id), variant.form, form)) return operand(id, {form, variant.buffer});
  return convert(id, made, form);
}

Operand Lowering::convert(ValueId id, const Operand& from, const Form& to) {
  Operand out = write(id, to);
  const std::string body = fmt::format("  r = {};", element_here({from}, 0, out.shape));
  const size_t pixel = static_cast<size_t>(to.pitch) * byte_size(to.element);
  const bool few_channels = to.channels_last && (pixel == 4 || pixel == 8 || pixel == 16);
  Launch launch = few_channels ? pixel_kernel(from, out) : element_kernel("convert", {out, {from}, kind_of(from.form.element), body});
  plan_.steps.push_back({.name = "reorder " + graph_.values[static_cast<size_t>(id)].name,
                         .op = "Reorder",
                         .launches = {std::move(launch)},
                         .roles = {from.buffer, out.buffer},
                         .reads = {from.buffer},
                         .writes = {out.buffer}});
  return out;
}

Operand Lowering::write(ValueId id, const Form& form) {
  const BufferId buffer = scratch(bytes_of(shape(id), form));
  variants_[static_cast<size_t>(id)].push_back({form, buffer});
  Operand out = operand(id, {form, buffer});
  out.rounded = form.element == Element::f32 && multiplied_.contains(id);
  return out;
}

void Lowering::alias(ValueId id, const Operand& of, const Form& form) { variants_[static_cast<size_t>(id)].push_back({form, of.buffer}); }

const Part* Lowering::part(ValueId id) const {
  const auto found = parts_.find(id);
  return found == parts_.end() ? nullptr : &found->second;
}

ValueId Lowering::add_value(DataType type, const Shape& shape) {
  const auto id = static_cast<ValueId>(graph_.values.size());
  Dims dims;
  for (int64_t size : shape) dims.push_back({size, {}});
  graph_.values.push_back({fmt::format("between {}", id), type, dims});
  shapes_.push_back(shape);
  variants_.emplace_back();
  return id;
}

ValueId Lowering::add_constant(const Tensor& tensor) {
  const ValueId id = add_value(tensor.type, tensor.shape);
  graph_.constants[id] = tensor;
  return id;
}

Step& Lowering::step(const Operation& operation, Launch launch, const std::vector<Operand>& reads, const std::vector<Operand>& writes) {
  Step step{.name = operation.name, .op = operation.main.op};
  const bool empty = std::all_of(writes.begin(), writes.end(), [](const Operand& out) { return element_count(out.shape) == 0; });
  if (!empty) step.launches.push_back(std::move(launch));
  for (const auto* operands : {&reads, &writes})
    for (const Operand& each : *operands) step.roles.push_back(each.buffer);
  for (const Operand& each : reads) step.reads.push_back(each.buffer);
  for (const Operand& each : writes) step.writes.push_back(each.buffer);
  return plan_.steps.emplace_back(std::move(step));
}

void Lowering::count(const Operation& operation, const std::string& precision) {
  const auto macs_of = [](const Graph& graph, const Node& node) { return is_dense_main(node) ? count_node(graph, node).macs : 0; };
  int64_t macs = operation.body == nullptr ? macs_of(graph_, *operation.node) : 0;
  if (operation.body != nullptr)
    for (const auto& node : operation.body->nodes) macs += macs_of(*operation.body, node);
  count(macs, precision);
}

void Lowering::count(int64_t macs, const std::string& precision) {
  if (macs > 0) plan_.macs[precision] += macs;
}

void Lowering::refuse(const Operation& operation, const std::string& why) const {
  throw Error(ErrorKind::refused, fmt::format("native on cuda does not run operator {}{} (node {})", operation.main.op,
                                              why.empty() ? "" : " " + why, operation.name));
}

void Lowering::add_inputs() {
  for (size_t i = 0; i < graph_.inputs.size(); ++i) {
    const ValueId id = graph_.inputs[i];
    const Form form = plain_form(element_of(type(id)), shape(id));
    const BufferId buffer = add_buffer({.kind = Buffer::Kind::input, .bytes = bytes_of(shape(id), form), .external = i});
    variants_[static_cast<size_t>(id)].push_back({form, buffer});
  }
}

// A fused node of integers for which there is no kernel: its DequantizeLinear nodes, the rest in floating point, its QuantizeLinear.
void Lowering::lower_parts(const Node& node) {
  const auto add = [&](const Graph& body, ValueId id) {
    return add_value(body.values[static_cast<size_t>(id)].type, known_shape(body, id));
  };
  for (const Node& part : parts_of(node, add)) {
    if (is_dequantize(part) && constant(part.inputs[0]) != nullptr) {
      std::vector<Tensor> inputs;
      for (ValueId id : part.inputs) inputs.push_back(id == no_value ? Tensor{} : *constant(id));
      graph_.constants[part.outputs[0]] = evaluate_node(graph_, part, inputs).at(0);
      continue;
    }
    lower_node(part);
  }
}

void Lowering::lower_node(const Node& node) {
  const Operation operation = operation_of(graph_, node);
  if (lower_operation(*this, operation)) return;
  if (operation.body == nullptr) refuse(operation, "as this node asks for it");
  for (ValueId id : node.outputs)  // removes the remains of an attempt
    if (id != no_value) variants_[static_cast<size_t>(id)].clear();
  lower_parts(node);
}

// A result as the caller gets it: dense row-major, in its own type.
void Lowering::bind_output(size_t position, ValueId id) {
  const Form form = plain_form(element_of(type(id)), shape(id));
  const size_t bytes = bytes_of(shape(id), form);
  const Operand made = read(id, form);
  auto& buffer = plan_.buffers[static_cast<size_t>(made.buffer)];
  if (buffer.kind == Buffer::Kind::arena && buffer.bytes == bytes) {
    buffer.kind = Buffer::Kind::output;
    buffer.external = position;
    return;
  }
  Operand out = made;
  out.buffer = add_buffer({.kind = Buffer::Kind::output, .bytes = bytes, .external = position});
  const std::string body = fmt::format("  r = {};", element_here({made}, 0, out.shape));
  Launch launch = element_kernel("output", {out, {made}, kind_of(form.element), body});
  plan_.steps.push_back({.name = "copy " + graph_.values[static_cast<size_t>(id)].name,
                         .op = "Copy",
                         .launches = {std::move(launch)},
                         .roles = {made.buffer, out.buffer},
                         .reads = {made.buffer},
                         .writes = {out.buffer}});
}

// Steps whose results nobody reads, such as copies of what was read where it lay.
void Lowering::drop_unread() {
  std::vector<bool> read(plan_.buffers.size());
  for (size_t i = 0; i < read.size(); ++i) read[i] = plan_.buffers[i].kind == Buffer::Kind::output;
  std::vector<Step> kept;
  while (!plan_.steps.empty()) {
    Step step = std::move(plan_.steps.back());
    plan_.steps.pop_back();
    const bool wanted = step.writes.empty() ||
                        std::any_of(step.writes.begin(), step.writes.end(), [&](BufferId id) { return read[static_cast<size_t>(id)]; });
    if (!wanted) continue;
    for (const BufferId id : step.reads) read[static_cast<size_t>(id)] = true;
    kept.push_back(std::move(step));
  }
  plan_.steps.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

GpuPlan Lowering::lower() {
  add_inputs();
  const std::vector<Node> nodes = graph_.nodes;  // values are added to the Graph meanwhile
  for (const Node& node : nodes) lower_node(node);
  for (size_t i = 0; i < graph_.outputs.size(); ++i) bind_output(i, graph_.outputs[i]);
  drop_unread();
  return std::move(plan_);
}

}  // namespace deepgap::gpu
