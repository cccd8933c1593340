#include "backends/onnxruntime/ort_slot.h"

#include "backends/onnxruntime/ort_values.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

std::vector<SlotBuffer> buffers(const std::vector<Port>& ports, int64_t batch) {
  std::vector<SlotBuffer> made;
  for (const Port& port : ports) {
    const auto shape = port.shape(batch);
    made.emplace_back(shape ? bytes_of(port.type, *shape) : 0);
  }
  return made;
}

}  // namespace

OrtSlot::OrtSlot(const OrtNetwork& network)
    : network_(network),
      input_buffers_(buffers(network.inputs, network.max_batch)),
      output_buffers_(buffers(network.outputs, network.max_batch)),
      in_(network.inputs.size()),
      out_(network.outputs.size()),
      made_(network.outputs.size()),
      made_shapes_(network.outputs.size()),
      views_(network.outputs.size()) {
  for (const Port& port : network.inputs) input_names_.push_back(port.name.c_str());
  for (const Port& port : network.outputs) output_names_.push_back(port.name.c_str());
}

int64_t OrtSlot::buffer_bytes() const {
  size_t bytes = 0;
  for (const SlotBuffer& buffer : input_buffers_) bytes += buffer.bytes();
  for (const SlotBuffer& buffer : output_buffers_) bytes += buffer.bytes();
  return static_cast<int64_t>(bytes);
}

void OrtSlot::bind(int64_t batch) { binding(batch); }

OrtSlot::Binding& OrtSlot::binding(int64_t batch) {
  if (const auto found = bindings_.find(batch); found != bindings_.end()) return found->second;
  if (batch < 1 || batch > network_.max_batch) {
    throw Error(ErrorKind::input, fmt::format("onnxruntime: {} samples, loaded for at most {}", batch, network_.max_batch));
  }
  Binding made;
  for (size_t i = 0; i < network_.inputs.size(); ++i) {
    const Port& port = network_.inputs[i];
    made.input_shapes.push_back(*port.shape(batch));
    made.inputs.push_back(value_over(input_buffers_[i].data(), port.type, made.input_shapes[i]));
    made.sources.push_back(input_buffers_[i].data());
  }
  for (size_t i = 0; i < network_.outputs.size(); ++i) {
    const Port& port = network_.outputs[i];
    const auto shape = port.shape(batch);
    made.output_shapes.push_back(shape.value_or(Shape{}));
    made.outputs.push_back(shape ? value_over(output_buffers_[i].data(), port.type, *shape) : nullptr);
  }
  if (network_.io_binding) made.io = io_binding(made);
  return bindings_.emplace(batch, std::move(made)).first->second;
}

OrtValueHandle OrtSlot::value_over(const std::byte* data, DataType type, const Shape& shape) const {
  return ort_value_over(network_.host_memory.get(), data, type, shape);
}

OrtIoBindingHandle OrtSlot::io_binding(const Binding& binding) const {
  OrtIoBinding* raw = nullptr;
  ort().call(ort_create_io_binding, network_.session.get(), &raw);
  OrtIoBindingHandle io(raw);
  for (size_t i = 0; i < binding.inputs.size(); ++i) ort().call(ort_bind_input, raw, input_names_[i], binding.inputs[i].get());
  // In the network's order, in which the library hands them over.
  for (size_t i = 0; i < binding.outputs.size(); ++i) {
    if (binding.outputs[i] != nullptr) {
      ort().call(ort_bind_output, raw, output_names_[i], binding.outputs[i].get());
    } else {
      ort().call(ort_bind_output_to_device, raw, output_names_[i], network_.host_memory.get());
    }
  }
  return io;
}

void OrtSlot::gather(const Staging& staging, std::span<const uint32_t> samples) {
  const auto batch = static_cast<int64_t>(samples.size());
  Binding& bound = binding(batch);
  for (size_t i = 0; i < network_.inputs.size(); ++i) {
    bind_input(bound, i,
               staging.adjacent_or_gathered(i, samples, batch, input_buffers_[i].data(),
                                            bytes_of(network_.inputs[i].type, bound.input_shapes[i])));
  }
}

void OrtSlot::bind_input(Binding& binding, size_t input, const std::byte* source) const {
  const bool moved = binding.sources[input] != source;
  if (!moved && !network_.copies_when_bound) return;
  if (moved) binding.inputs[input] = value_over(source, network_.inputs[input].type, binding.input_shapes[input]);
  if (binding.io != nullptr) ort().call(ort_bind_input, binding.io.get(), input_names_[input], binding.inputs[input].get());
  binding.sources[input] = source;
}

void OrtSlot::run(int64_t batch) {
  const Binding& bound = binding(batch);
  for (OrtValueHandle& value : made_) value.reset();
  if (bound.io != nullptr) {
    run_bound(bound);
  } else {
    run_named(bound);
  }
}

// The last run's results are bound still, and the library would want this run's to be as large.
void OrtSlot::forget_made(const Binding& binding) const {
  for (size_t i = 0; i < binding.outputs.size(); ++i) {
    if (binding.outputs[i] == nullptr) {
      ort().call(ort_bind_output_to_device, binding.io.get(), output_names_[i], network_.host_memory.get());
    }
  }
}

void OrtSlot::run_bound(const Binding& binding) {
  forget_made(binding);
  ort().call(ort_run_with_binding, network_.session.get(), nullptr, binding.io.get());
  bool all_bound = true;
  for (const OrtValueHandle& value : binding.outputs) all_bound = all_bound && value != nullptr;
  if (all_bound) return;
  OrtAllocator* allocator = nullptr;
  OrtValue** values = nullptr;
  size_t count = 0;
  ort().call(ort_default_allocator, &allocator);
  ort().call(ort_bound_outputs, binding.io.get(), allocator, &values, &count);
  for (size_t i = 0; i < count; ++i) {
    OrtValueHandle value(values[i]);
    if (binding.outputs[i] == nullptr) made_[i] = std::move(value);
  }
  ort().call(ort_allocator_free, allocator, values);
}

void OrtSlot::run_named(const Binding& binding) {
  for (size_t i = 0; i < in_.size(); ++i) in_[i] = binding.inputs[i].get();
  for (size_t i = 0; i < out_.size(); ++i) out_[i] = binding.outputs[i].get();
  ort().call(ort_run, network_.session.get(), nullptr, input_names_.data(), in_.data(), in_.size(), output_names_.data(), out_.size(),
             out_.data());
  for (size_t i = 0; i < out_.size(); ++i) {
    if (binding.outputs[i] == nullptr) made_[i].reset(out_[i]);
  }
}

void OrtSlot::show(int64_t batch) {
  const Binding& bound = binding(batch);
  for (size_t i = 0; i < views_.size(); ++i) {
    if (made_[i] != nullptr) {
      views_[i] = view_made(i);
    } else {
      views_[i] = {network_.outputs[i].type, bound.output_shapes[i], output_buffers_[i].data()};
    }
  }
}

TensorView OrtSlot::view_made(size_t output) {
  const Port& port = network_.outputs[output];
  return ort_tensor(made_[output].get(), port.name, port.type, made_shapes_[output]);
}

}  // namespace deepgap
