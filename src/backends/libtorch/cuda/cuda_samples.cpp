#include "backends/libtorch/cuda/cuda_samples.h"

#include "backends/libtorch/cuda/cuda_call.h"
#include "backends/libtorch/torch_types.h"

#include <deepgap/error.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace deepgap {

namespace {

// One copy brings them; for such the gathering would only be one launch more.
bool neighbours(std::span<const uint32_t> samples) {
  for (size_t i = 1; i < samples.size(); ++i) {
    if (samples[i] != samples[i - 1] + 1) return false;
  }
  return true;
}

}  // namespace

TorchForm input_form(const Port& input, const TorchTarget& target, SamplePlace place) {
  const at::ScalarType type = torch_type(input.type);
  if (place != SamplePlace::ready) return {type, false};
  return torch_input_form(type, input.dims ? input.dims->size() : 0, target);
}

GatherIndex::GatherIndex(int64_t largest_batch, int64_t bytes, const c10::Device& on)
    : pinned(at::empty({largest_batch}, at::TensorOptions(at::kLong).pinned_memory(true))),
      device(at::empty({largest_batch}, at::TensorOptions(at::kLong).device(on))),
      samples(at::empty({bytes}, at::TensorOptions(at::kByte).pinned_memory(true))) {}

CudaSamples::CudaSamples(std::string engine, std::vector<Port> inputs, SamplePlace place, const TorchTarget& target)
    : engine_(std::move(engine)), inputs_(std::move(inputs)), staging_(engine_, inputs_), place_(place), target_(target) {}

void CudaSamples::stage(std::span<const std::vector<TensorView>> samples) {
  staging_.stage(samples);
  samples_.clear();
  count_ = samples.size();
  each_.assign(inputs_.size(), 0);
  for (size_t i = 0; i < inputs_.size() && count_ != 0; ++i) each_[i] = samples.front()[i].bytes();
  if (place_ == SamplePlace::caller) return;
  std::vector<uint32_t> all(count_);
  std::iota(all.begin(), all.end(), 0U);
  const auto rows = static_cast<int64_t>(count_);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    at::Tensor pinned = at::empty({rows, static_cast<int64_t>(each_[i])}, at::TensorOptions(at::kByte).pinned_memory(true));
    staging_.gather(i, all, rows, static_cast<std::byte*>(pinned.mutable_data_ptr()), each_[i] * count_);
    if (count_ == 0) continue;
    const auto& shape = samples.front()[i].shape;
    samples_.push_back(placed(i, pinned, {shape.begin(), shape.end()}));
    each_[i] = static_cast<size_t>(samples_[i].size(1));
  }
}

// As rows of bytes, where and as queries read them; `shape` is a sample's.
at::Tensor CudaSamples::placed(size_t input, const at::Tensor& pinned, Shape shape) const {
  if (place_ == SamplePlace::host) return pinned;
  at::Tensor bytes = pinned.to(target_.device);
  if (place_ == SamplePlace::device || bytes.numel() == 0) return bytes;
  if (!shape.empty()) shape[0] *= pinned.size(0);
  const at::Tensor ready =
      torch_input(at::from_blob(bytes.mutable_data_ptr(), shape, bytes.options().dtype(torch_type(inputs_[input].type))), target_);
  const int64_t each = static_cast<int64_t>(ready.nbytes()) / pinned.size(0);
  return at::from_blob(
      ready.mutable_data_ptr(), {pinned.size(0), each}, [bytes, ready](void*) {}, bytes.options());
}

void CudaSamples::require(size_t input, std::span<const uint32_t> samples, size_t bytes) const {
  const uint32_t last = samples.empty() ? 0 : *std::max_element(samples.begin(), samples.end());
  if (last >= count_) throw Error(ErrorKind::input, fmt::format("{}: sample {} was not staged, {} were", engine_, last, count_));
  const size_t each = each_[input];
  if (each * samples.size() != bytes)
    throw Error(ErrorKind::input, fmt::format("{}: {} samples of {} bytes for input '{}', the model takes {} bytes", engine_,
                                              samples.size(), each, inputs_[input].name, bytes));
}

void CudaSamples::launch(size_t input, std::span<const uint32_t> samples, GatherIndex& index, at::Tensor& to, size_t bytes) const {
  require(input, samples, bytes);
  const size_t each = each_[input], count = samples.size();
  if (each == 0) return;
  const auto stream = c10::cuda::getCurrentCUDAStream(target_.device.index());
  if (place_ == SamplePlace::caller) {
    auto* gathered = static_cast<std::byte*>(index.samples.mutable_data_ptr());
    staging_.gather(input, samples, static_cast<int64_t>(count), gathered, bytes);
    check_cuda(cudaMemcpyAsync(to.mutable_data_ptr(), gathered, bytes, cudaMemcpyHostToDevice, stream), "copying to the GPU");
    return;
  }
  const at::Tensor& from = samples_[input];
  if (place_ != SamplePlace::host && !neighbours(samples)) {
    std::copy(samples.begin(), samples.end(), index.pinned.mutable_data_ptr<int64_t>());
    const auto rows = static_cast<int64_t>(count);
    at::Tensor chosen = index.device.narrow(0, 0, rows);
    check_cuda(
        cudaMemcpyAsync(chosen.mutable_data_ptr(), index.pinned.const_data_ptr(), count * sizeof(int64_t), cudaMemcpyHostToDevice, stream),
        "copying to the GPU");
    at::Tensor target = to.narrow(0, 0, static_cast<int64_t>(bytes)).view({rows, static_cast<int64_t>(each)});
    const bool wide = each % sizeof(int64_t) == 0;  // eight bytes a thread
    at::Tensor wide_target = wide ? target.view(at::kLong) : target;
    at::index_select_out(wide_target, wide ? from.view(at::kLong) : from, 0, chosen);
    return;
  }
  // Neighbours in one copy.
  const cudaMemcpyKind way = place_ == SamplePlace::host ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToDevice;
  const auto* source = static_cast<const std::byte*>(from.const_data_ptr());
  auto* target = static_cast<std::byte*>(to.mutable_data_ptr());
  for (size_t first = 0, next = 0; first < count; first = next) {
    for (next = first + 1; next < count && samples[next] == samples[next - 1] + 1;) ++next;
    check_cuda(cudaMemcpyAsync(target + first * each, source + samples[first] * each, (next - first) * each, way, stream),
               "copying to the GPU");
  }
}

}  // namespace deepgap
