#include "backends/libtorch/cuda/cuda_inputs.h"

#include "backends/libtorch/torch_types.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAGuard.h>

#include <utility>

namespace deepgap {
namespace {

TorchForm form_of(const Port& input, const TorchTarget& target, cuda::SamplePlace place) {
  const at::ScalarType type = torch_type(input.type);
  if (!is_ready(place)) return {type, false};
  return torch_input_form(type, input.dims ? input.dims->size() : 0, target);
}

// Returns the bytes of the inputs as they are given.
size_t given_bytes(const std::vector<Port>& inputs, int64_t batch) {
  size_t bytes = 0;
  for (const Port& port : inputs) bytes += bytes_of(port.type, *port.shape(batch));
  return bytes;
}

}  // namespace

cuda::StreamHandle handle_of(const c10::cuda::CUDAStream& stream) { return reinterpret_cast<cuda::StreamHandle>(stream.stream()); }

CudaInputs::CudaInputs(std::vector<Port> inputs, int64_t largest_batch, const TorchTarget& target, cuda::SamplePlace place,
                       const c10::cuda::CUDAStream& stream)
    : inputs_(std::move(inputs)), space_(place, largest_batch, given_bytes(inputs_, largest_batch)) {
  const c10::cuda::CUDAStreamGuard guard(stream);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    forms_.push_back(form_of(inputs_[i], target, place));
    device_.push_back(at::zeros({bytes(i, largest_batch)}, at::TensorOptions(at::kByte).device(target.device)));
  }
}

int64_t CudaInputs::bytes(size_t input, int64_t batch) const {
  return element_count(*inputs_[input].shape(batch)) * static_cast<int64_t>(c10::elementSize(forms_[input].type));
}

std::vector<at::Tensor> CudaInputs::at(int64_t batch) const {
  std::vector<at::Tensor> inputs;
  for (size_t i = 0; i < device_.size(); ++i) {
    const Shape shape = *inputs_[i].shape(batch);
    const at::TensorOptions options = device_[i].options().dtype(forms_[i].type);
    void* data = device_[i].mutable_data_ptr();
    if (data == nullptr) {  // no elements, and no pointer that from_blob takes
      inputs.push_back(at::empty(shape, options));
      continue;
    }
    inputs.push_back(forms_[i].channels_last ? at::from_blob(data, shape, c10::get_channels_last_strides_2d(shape), options)
                                             : at::from_blob(data, shape, options));
  }
  return inputs;
}

void CudaInputs::launch(const cuda::Samples& staged, std::span<const uint32_t> samples, const c10::cuda::CUDAStream& stream) {
  const auto batch = static_cast<int64_t>(samples.size());
  std::vector<cuda::Samples::Input> inputs;
  for (size_t i = 0; i < inputs_.size(); ++i)
    inputs.push_back({reinterpret_cast<cuda::Address>(device_[i].mutable_data_ptr()), static_cast<size_t>(bytes(i, batch))});
  staged.launch(samples, inputs, space_, handle_of(stream));
}

}  // namespace deepgap
