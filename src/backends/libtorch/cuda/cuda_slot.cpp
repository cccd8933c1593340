#include "backends/libtorch/cuda/cuda_slot.h"

#include "backends/libtorch/torch_types.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAGuard.h>

namespace deepgap {
namespace {

constexpr int runs_before_capture = 3;  // as PyTorch asks for: libraries allocate and choose in the first ones

// Of the Graph's inputs as they stand there.
size_t given_bytes(const Graph& graph, int64_t batch) {
  size_t bytes = 0;
  for (const Port& port : ports(graph, graph.inputs)) bytes += bytes_of(port.type, *port.shape(batch));
  return bytes;
}

}  // namespace

TorchForm input_form(const Port& input, const TorchTarget& target, cuda::SamplePlace place) {
  const at::ScalarType type = torch_type(input.type);
  if (place != cuda::SamplePlace::ready) return {type, false};
  return torch_input_form(type, input.dims ? input.dims->size() : 0, target);
}

cuda::StreamHandle handle_of(const c10::cuda::CUDAStream& stream) { return reinterpret_cast<cuda::StreamHandle>(stream.stream()); }

CudaSlot::CudaSlot(const Graph& graph, int64_t largest_batch, const TorchTarget& target, cuda::SamplePlace place)
    : inputs_(ports(graph, graph.inputs)),
      stream_(c10::cuda::getStreamFromPool(false, target.device.index())),
      space_(place, largest_batch, given_bytes(graph, largest_batch)),
      outputs_(graph, largest_batch, true) {
  const c10::cuda::CUDAStreamGuard guard(stream_);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    forms_.push_back(input_form(inputs_[i], target, place));
    device_.push_back(at::zeros({input_bytes(i, largest_batch)}, at::TensorOptions(at::kByte).device(target.device)));
  }
}

int64_t CudaSlot::input_bytes(size_t input, int64_t batch) const {
  return element_count(*inputs_[input].shape(batch)) * static_cast<int64_t>(c10::elementSize(forms_[input].type));
}

// Views of the same bytes at each batch size, so that a captured graph finds its inputs.
std::vector<at::Tensor> CudaSlot::device_inputs(int64_t batch) const {
  std::vector<at::Tensor> inputs;
  for (size_t i = 0; i < device_.size(); ++i) {
    const Shape shape = *inputs_[i].shape(batch);
    const at::TensorOptions options = device_[i].options().dtype(forms_[i].type);
    void* bytes = device_[i].mutable_data_ptr();
    if (bytes == nullptr) {  // no elements, and no pointer that from_blob takes
      inputs.push_back(at::empty(shape, options));
      continue;
    }
    inputs.push_back(forms_[i].channels_last ? at::from_blob(bytes, shape, c10::get_channels_last_strides_2d(shape), options)
                                             : at::from_blob(bytes, shape, options));
  }
  return inputs;
}

std::vector<at::Tensor> CudaSlot::compute(TorchNetwork& network, int64_t batch) {
  std::vector<at::Tensor> results = network.run(batch, device_inputs(batch), nullptr);
  for (size_t i = 0; i < results.size(); ++i) results[i] = outputs_.in_type(i, results[i]);
  return results;
}

void CudaSlot::capture(TorchNetwork& network, int64_t batch) {
  const c10::cuda::CUDAStreamGuard guard(stream_);
  for (int run = 0; run < runs_before_capture; ++run) compute(network, batch);
  stream_.synchronize();
  auto captured = std::make_unique<Captured>();
  // Of this thread alone: another session's may ask its events meanwhile.
  captured->graph.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
  try {
    captured->results = compute(network, batch);
  } catch (...) {
    try {
      captured->graph.capture_end();
    } catch (const std::exception&) {  // what broke the capture is told
    }
    throw;
  }
  captured->graph.capture_end();
  graphs_[batch] = std::move(captured);
}

void CudaSlot::launch(TorchNetwork& network, const cuda::Samples& staged, std::span<const uint32_t> samples, bool replays) {
  using cuda::QueryEvents;
  const auto batch = static_cast<int64_t>(samples.size());
  const cuda::StreamHandle stream = handle_of(stream_);
  const c10::cuda::CUDAStreamGuard guard(stream_);
  std::vector<cuda::Samples::Input> inputs;
  for (size_t i = 0; i < inputs_.size(); ++i)
    inputs.push_back({reinterpret_cast<cuda::Address>(device_[i].mutable_data_ptr()), static_cast<size_t>(input_bytes(i, batch))});
  events_.record(QueryEvents::first, stream);
  staged.launch(samples, inputs, space_, stream);
  events_.record(QueryEvents::copied, stream);
  std::vector<at::Tensor> results;
  if (replays) {
    Captured& captured = *graphs_.at(batch);
    captured.graph.replay();
    results = captured.results;
  } else {
    results = compute(network, batch);
  }
  events_.record(QueryEvents::computed, stream);
  outputs_.take(results);
  events_.record(QueryEvents::last, stream);
}

}  // namespace deepgap
