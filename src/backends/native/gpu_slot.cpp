#include "backends/native/gpu_slot.h"

#include <deepgap/error.h>

#include <fmt/core.h>

#include <algorithm>

namespace deepgap {
namespace {

using cuda::QueryEvents;

// Returns the bytes of the largest batch, as queries bring them.
size_t input_bytes(const gpu::Network& network) {
  const gpu::Program& largest = network.programs().rbegin()->second;
  size_t bytes = 0;
  for (size_t i = 0; i < largest.inputs.size(); ++i) bytes += largest.input_bytes(i);
  return bytes;
}

}  // namespace

GpuSlot::GpuSlot(gpu::Network& network, const Graph& graph, cuda::SamplePlace place, bool graphs, bool alone)
    : network_(network),
      outputs_(ports(graph, graph.outputs)),
      instance_(network),
      space_(place, network.programs().rbegin()->first, input_bytes(network)),
      shapes_(outputs_.size()),
      views_(outputs_.size()),
      inputs_(graph.inputs.size()) {
  for (size_t i = 0; i < outputs_.size(); ++i)
    returned_.push_back(instance_.output_on_host(i) != nullptr ? cuda::PinnedMemory() : cuda::PinnedMemory(instance_.output_bytes(i)));
  chosen_.reserve(static_cast<size_t>(network.programs().rbegin()->first));
  if (graphs && alone) stamps_.emplace();
  if (graphs) record_graphs();
}

// Runs once without recording: a module's code is brought to the device with its first launch.
void GpuSlot::record_graphs() {
  for (const auto& [batch, program] : network_.programs()) {
    instance_.run(program, stream_);
    stream_.synchronize();
    graphs_.try_emplace(batch, instance_, program, stream_, stamps_ ? &*stamps_ : nullptr);
  }
}

// Work that was queued before something failed may still read the slot's buffers.
void GpuSlot::launch(const cuda::Samples& staged, std::span<const uint32_t> samples, ComputeOrder& order) {
  try {
    queue(staged, samples, order);
  } catch (const Error&) {
    static_cast<void>(cuda::driver().cuStreamSynchronize(stream_.get()));
    throw;
  }
}

void GpuSlot::run(const gpu::Program& program) {
  const auto graph = graphs_.find(program.batch);
  if (graph != graphs_.end()) return graph->second.launch(stream_);
  instance_.run(program, stream_);
}

void GpuSlot::queue(const cuda::Samples& staged, std::span<const uint32_t> samples, ComputeOrder& order) {
  const auto count = static_cast<int64_t>(samples.size());
  const gpu::Program* program = samples.empty() ? nullptr : network_.program_for(count);
  if (program == nullptr) throw Error(ErrorKind::input, fmt::format("native: {} samples, and no batch that large was loaded", count));
  chosen_.assign(samples.begin(), samples.end());
  // In a network whose samples meet, places that nobody asked for hold the last sample again: what is last stays so.
  if (!program->samples_apart) chosen_.resize(static_cast<size_t>(program->batch), samples.back());
  const bool copies = place_inputs(staged, *program), copies_back = copies_outputs();
  if (stamps_ && !copies && !copies_back)
    events_.stamp(*stamps_);
  else
    events_.record(QueryEvents::first, stream_.get());
  staged.launch(chosen_, inputs_, space_, stream_.get());
  if (copies) events_.record(QueryEvents::copied, stream_.get());
  order.begin(program->batch, stream_);
  run(*program);
  events_.record(QueryEvents::computed, stream_.get());
  order.queued(events_.at(QueryEvents::computed));
  return_outputs(*program, count);
  if (copies_back) events_.record(QueryEvents::last, stream_.get());
}

// Settles where the query's inputs are read: samples that lie one behind another on the device where they are. Returns whether any are
// copied.
bool GpuSlot::place_inputs(const cuda::Samples& staged, const gpu::Program& program) {
  const auto recorded = graphs_.find(program.batch);
  bool copies = false;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const size_t whole = program.input_bytes(i);
    cuda::Address lying = 0;
    if (recorded != graphs_.end() && recorded->second.reads_anywhere(i)) {
      lying = staged.lying(chosen_, i, whole);
      recorded->second.read_at(i, lying != 0 ? lying : instance_.input(i));
    }
    inputs_[i] = {lying != 0 ? 0 : instance_.input(i), whole * chosen_.size() / static_cast<size_t>(program.batch)};
    copies = copies || lying == 0;
  }
  return copies;
}

bool GpuSlot::copies_outputs() const {
  return std::any_of(returned_.begin(), returned_.end(), [](const cuda::PinnedMemory& memory) { return memory.bytes() > 0; });
}

// Brings only the results for `samples`, where the program is for more.
void GpuSlot::return_outputs(const gpu::Program& program, int64_t samples) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const bool batched = outputs_[i].leads_with_batch();
    shapes_[i] = program.outputs[i];
    if (batched) shapes_[i][0] = shapes_[i][0] / program.batch * samples;
    const size_t bytes = bytes_of(outputs_[i].type, shapes_[i]);
    std::byte* written = instance_.output_on_host(i);
    if (written == nullptr && bytes > 0)
      cuda::check(cuda::driver().cuMemcpyDtoHAsync_v2(returned_[i].data(), instance_.output(i), bytes, stream_.get()), "copying results");
    views_[i] = {outputs_[i].type, shapes_[i], written != nullptr ? written : returned_[i].data()};
  }
}

// A batch of them at a time goes through what the largest program does with its input first.
std::optional<cuda::DeviceMemory> GpuSlot::ready(size_t input, cuda::Address from, size_t each, size_t count) {
  const gpu::Program& program = network_.programs().rbegin()->second;
  if (program.preparations.at(input).empty()) return std::nullopt;
  const auto batch = static_cast<size_t>(program.batch);
  const size_t ready = program.input_bytes(input) / batch;
  cuda::DeviceMemory made(ready * count);
  const cuda::DeviceMemory whole(each * batch);
  const auto copy = [&](cuda::Address to, cuda::Address source, size_t bytes) {
    cuda::check(cuda::driver().cuMemcpyDtoDAsync_v2(to, source, bytes, stream_.get()), "placing the samples");
  };
  for (size_t first = 0; first < count; first += batch) {
    const size_t here = std::min(batch, count - first);
    copy(whole.address(), from + first * each, here * each);
    instance_.prepare(program, input, whole.address(), stream_);
    copy(made.address() + first * ready, instance_.input(input), here * ready);
  }
  stream_.synchronize();
  return made;
}

// Queries may have read their samples elsewhere: what an input holds would be zeros, with which a GPU is faster.
void GpuSlot::copy_first(const cuda::Samples& staged) {
  const gpu::Program& program = network_.programs().rbegin()->second;
  if (staged.count() == 0) return;
  chosen_.clear();
  for (int64_t i = 0; i < program.batch; ++i) chosen_.push_back(static_cast<uint32_t>(static_cast<size_t>(i) % staged.count()));
  for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i] = {instance_.input(i), program.input_bytes(i)};
  staged.launch(chosen_, inputs_, space_, stream_.get());
}

std::vector<LayerTiming> GpuSlot::layer_timings(const cuda::Samples& staged) {
  copy_first(staged);
  return instance_.timed(network_.programs().rbegin()->second, stream_);
}

void GpuSlot::run_layers(const cuda::Samples& staged, const LayerMark& mark) {
  copy_first(staged);
  instance_.run_marked(network_.programs().rbegin()->second, stream_, mark);
  stream_.synchronize();
}

}  // namespace deepgap
