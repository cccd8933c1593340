#include "backends/native/batch_io.h"

#include <deepgap/batching.h>
#include <deepgap/error.h>

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

namespace deepgap {
namespace {

const Value& value_of(const Graph& graph, ValueId id) { return graph.values[static_cast<size_t>(id)]; }

bool scales_with_batch(const Value& value) { return value.dims && !value.dims->empty() && value.dims->front().symbol == batch_symbol; }

Shape bound_shape(const Dims& dims, int64_t batch) {
  Shape shape;
  for (const auto& dim : dims) shape.push_back(dim.known() ? dim.size : dim.size * batch);
  return shape;
}

}  // namespace

BatchIo::BatchIo(const Graph& graph, const std::vector<int64_t>& batch_sizes, int slots) : graph_(graph) {
  const int64_t largest = *std::max_element(batch_sizes.begin(), batch_sizes.end());
  const Batching batching = batching_of(graph);
  for (const int64_t batch : batch_sizes)
    if (!batching.takes(batch))
      throw Error(ErrorKind::refused, fmt::format("native: this model {}, not {}", batching_text(batching), batch));
  slots_.resize(static_cast<size_t>(slots));
  for (ValueId id : graph.inputs) {
    const Value& value = value_of(graph, id);
    if (!value.dims) throw Error(ErrorKind::refused, fmt::format("native: the shape of input {} is not known", value.name));
    Input input{value.type, batching.kind != Batching::Kind::whole, *value.dims, 0};
    const Shape one = bound_shape(*value.dims, 1);
    input.sample_bytes = static_cast<size_t>(element_count(one)) * byte_size(value.type);
    if (batching.kind == Batching::Kind::fixed) input.sample_bytes /= static_cast<size_t>(batching.samples);
    input_info_.push_back(input);
    for (auto& slot : slots_) slot.input_buffers.push_back(make_tensor(DataType::u8, {static_cast<int64_t>(input.sample_bytes) * largest}));
  }
  for (auto& slot : slots_) {
    slot.inputs.resize(graph.inputs.size());
    slot.outputs.resize(graph.outputs.size());
    slot.shapes.resize(graph.outputs.size());
    slot.views.resize(graph.outputs.size());
    slot.output_buffers.resize(graph.outputs.size());
  }
}

void BatchIo::stage(std::span<const std::vector<TensorView>> inputs) {
  staged_.clear();
  for (size_t s = 0; s < inputs.size(); ++s) {
    if (inputs[s].size() != input_info_.size())
      throw Error(ErrorKind::input, fmt::format("sample {} has {} tensors, the model {} inputs", s, inputs[s].size(), input_info_.size()));
    std::vector<const std::byte*> addresses;
    for (size_t i = 0; i < input_info_.size(); ++i) {
      const auto& given = inputs[s][i];
      if (given.type != input_info_[i].type || given.bytes() != input_info_[i].sample_bytes)
        throw Error(ErrorKind::input, fmt::format("sample {}: tensor for input {} is {} with {} bytes, the model wants {} with {}", s,
                                                  value_of(graph_, graph_.inputs[i]).name, name_of(given.type), given.bytes(),
                                                  name_of(input_info_[i].type), input_info_[i].sample_bytes));
      addresses.push_back(given.data);
    }
    staged_.push_back(std::move(addresses));
  }
}

void BatchIo::reserve(const std::vector<Shape>& shapes) {
  for (auto& slot : slots_) {
    for (size_t i = 0; i < shapes.size(); ++i) {
      const auto bytes = static_cast<size_t>(element_count(shapes[i])) * byte_size(value_of(graph_, graph_.outputs[i]).type);
      auto& buffer = slot.output_buffers[i];
      if (!buffer.data || buffer.bytes() < bytes) buffer = make_tensor(DataType::u8, {static_cast<int64_t>(bytes)});
      slot.outputs[i] = writable<std::byte>(buffer).data();
      slot.shapes[i] = shapes[i];
    }
  }
}

const std::byte* BatchIo::gather_one(Slot& slot, size_t input, std::span<const uint32_t> samples, int64_t batch) {
  const auto& info = input_info_[input];
  const auto at = [&](size_t k) { return staged_[samples[std::min(k, samples.size() - 1)]][input]; };
  if (!info.batched) return at(0);
  bool adjacent = true;
  for (size_t k = 1; k < static_cast<size_t>(batch) && adjacent; ++k) adjacent = at(k) == at(k - 1) + info.sample_bytes;
  if (adjacent) return at(0);
  auto* target = writable<std::byte>(slot.input_buffers[input]).data();
#pragma omp parallel for schedule(static)
  for (size_t k = 0; k < static_cast<size_t>(batch); ++k) std::memcpy(target + k * info.sample_bytes, at(k), info.sample_bytes);
  return target;
}

void BatchIo::gather(int index, std::span<const uint32_t> samples, int64_t batch) {
  for (uint32_t sample : samples)
    if (sample >= staged_.size())
      throw Error(ErrorKind::internal, fmt::format("sample {} was enqueued, {} are staged", sample, staged_.size()));
  Slot& slot = slots_[static_cast<size_t>(index)];
  for (size_t i = 0; i < slot.inputs.size(); ++i) slot.inputs[i] = gather_one(slot, i, samples, batch);
}

std::vector<Tensor> BatchIo::input_tensors(int slot, int64_t batch) const {
  std::vector<Tensor> tensors;
  const auto at = inputs(slot);
  for (size_t i = 0; i < at.size(); ++i)
    tensors.push_back(
        {input_info_[i].type, bound_shape(input_info_[i].dims, batch), std::shared_ptr<const std::byte>(std::shared_ptr<void>(), at[i])});
  return tensors;
}

void BatchIo::set_shapes(int slot, const std::vector<Shape>& shapes, int64_t batch, int64_t samples) {
  auto& made = slots_[static_cast<size_t>(slot)];
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Value& value = value_of(graph_, graph_.outputs[i]);
    made.shapes[i].assign(shapes[i].begin(), shapes[i].end());
    if (scales_with_batch(value)) made.shapes[i][0] = made.shapes[i][0] / batch * samples;
    made.views[i] = {value.type, made.shapes[i], made.outputs[i]};
  }
}

void BatchIo::keep_tensors(int index, std::vector<Tensor> tensors) {
  Slot& slot = slots_[static_cast<size_t>(index)];
  slot.kept = std::move(tensors);
  for (size_t i = 0; i < slot.kept.size(); ++i) slot.views[i] = slot.kept[i].view();
}

size_t BatchIo::reserved_bytes() const {
  size_t bytes = 0;
  for (const auto& slot : slots_) {
    for (const auto& buffer : slot.input_buffers) bytes += buffer.bytes();
    for (const auto& buffer : slot.output_buffers) bytes += buffer.data ? buffer.bytes() : 0;
  }
  return bytes;
}

}  // namespace deepgap
