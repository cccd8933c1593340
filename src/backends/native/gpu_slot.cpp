#include "backends/native/gpu_slot.h"

#include <deepgap/error.h>

#include <fmt/core.h>

namespace deepgap {

GpuSlot::GpuSlot(gpu::Network& network, const Graph& graph, size_t staged_bytes, bool graphs)
    : network_(network),
      outputs_(ports(graph, graph.outputs)),
      instance_(network),
      space_(network.programs().rbegin()->first, staged_bytes),
      shapes_(outputs_.size()),
      views_(outputs_.size()) {
  for (size_t i = 0; i < outputs_.size(); ++i) returned_.emplace_back(instance_.output_bytes(i));
  if (graphs) record_graphs();
}

// Once without recording: a module's code is brought to the device with its first launch.
void GpuSlot::record_graphs() {
  for (const auto& [batch, program] : network_.programs()) {
    instance_.run(program, stream_);
    stream_.synchronize();
    graphs_[batch] = cuda::CudaGraph::record(stream_, [&, &program = program] { instance_.run(program, stream_); });
  }
}

void GpuSlot::launch(const GpuSamples& staged, std::span<const uint32_t> samples) {
  const auto count = static_cast<int64_t>(samples.size());
  const gpu::Program* program = samples.empty() ? nullptr : network_.program_for(count);
  if (program == nullptr) throw Error(ErrorKind::input, fmt::format("native: {} samples, and no batch that large was loaded", count));
  events_[first].record(stream_);
  staged.launch(samples, *program, space_, instance_, stream_);
  events_[copied].record(stream_);
  const auto graph = graphs_.find(program->batch);
  if (graph != graphs_.end()) {
    graph->second.launch(stream_);
  } else {
    instance_.run(*program, stream_);
  }
  events_[computed].record(stream_);
  return_outputs(*program, count);
  events_[last].record(stream_);
}

// Of a program for more samples than there are, what belongs to these alone.
void GpuSlot::return_outputs(const gpu::Program& program, int64_t samples) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const bool batched = outputs_[i].leads_with_batch();
    shapes_[i] = program.outputs[i];
    if (batched) shapes_[i][0] = shapes_[i][0] / program.batch * samples;
    const size_t bytes = bytes_of(outputs_[i].type, shapes_[i]);
    if (bytes > 0)
      cuda::check(cuda::driver().cuMemcpyDtoHAsync_v2(returned_[i].data(), instance_.output(i), bytes, stream_.get()), "copying results");
    views_[i] = {outputs_[i].type, shapes_[i], returned_[i].data()};
  }
}

std::array<Nanoseconds, 3> GpuSlot::durations() const {
  return {events_[copied].since_ns(events_[first]), events_[computed].since_ns(events_[first]), events_[last].since_ns(events_[first])};
}

}  // namespace deepgap
