#include "backends/libtorch/cuda/cuda_session.h"

#include "backends/libtorch/cuda/cuda_session_base.h"
#include "backends/libtorch/cuda/cuda_slot.h"
#include "backends/libtorch/torch_failure.h"

#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>
#include <c10/cuda/CUDAGuard.h>

namespace deepgap {
namespace {

TorchTarget target_of(const LoadOptions& options, const TorchSettings& settings) {
  TorchTarget target = cuda_target(options, settings);
  if (options.precision == Precision::bf16) target.floats = at::kBFloat16;
  if (options.precision == Precision::fp16) target.floats = at::kHalf;
  if (options.precision == Precision::mixed) target.autocast = at::kHalf;  // what PyTorch's autocast takes on a GPU
  return target;
}

class TorchCudaSession final : public CudaSessionBase<CudaSlot> {
 public:
  TorchCudaSession(const Model& model, const LoadOptions& options, const TorchSettings& settings)
      : CudaSessionBase(options, settings, target_of(options, settings), ports(model.graph(), model.graph().inputs), "running the model"),
        model_(model) {
    load(options, settings, [&] { prepare(model, options, settings); });
  }
  ~TorchCudaSession() override { end(); }

  // Times events around each node, eagerly: where launching takes longer than the work, the launches are what is timed.
  std::vector<LayerTiming> layer_timings() override {
    drain();
    const c10::InferenceMode inference;
    CudaSlot& slot = *slots_.front();
    const c10::cuda::CUDAStreamGuard guard(slot.stream());
    std::vector<LayerTiming> timings;
    std::vector<cuda::Event> events(1);
    events.front().record(handle_of(slot.stream()));
    const TorchNetwork::Around around = [&](const Node& node, const std::function<at::Tensor()>& work) {
      work();
      timings.push_back({node.name, node.op, 0});
      events.emplace_back();
      events.back().record(handle_of(slot.stream()));
    };
    with_torch_errors("running the model", [&] {
      network_->run(largest_, slot.device_inputs(largest_), &around);
      slot.stream().synchronize();
    });
    for (size_t i = 0; i < timings.size(); ++i) timings[i].ns = events[i + 1].since_ns(events[i]);
    return timings;
  }

  bool run_layers(const LayerMark& mark) override {
    drain();
    const c10::InferenceMode inference;
    CudaSlot& slot = *slots_.front();
    const c10::cuda::CUDAStreamGuard guard(slot.stream());
    bool announced = false;
    const TorchNetwork::Around around = [&](const Node& node, const std::function<at::Tensor()>& work) {
      announced = true;
      mark(node.name, node.op);
      work();
    };
    allow_tf32(tf32_);
    network_->run(largest_, slot.device_inputs(largest_), &around);
    slot.stream().synchronize();
    return announced;
  }

  PrecisionShares precision_shares() override {
    drain();
    const c10::InferenceMode inference;
    CudaSlot& slot = *slots_.front();
    const c10::cuda::CUDAStreamGuard guard(slot.stream());
    return torch_precision_shares(*network_, model_, largest_, slot.device_inputs(largest_), tf32_ ? "tf32" : "fp32");
  }

 private:
  void prepare(const Model& model, const LoadOptions& options, const TorchSettings& settings) {
    const c10::InferenceMode inference;
    network_ = make_torch_network(model.graph(), target_, settings.package);
    prepare_batches(model, options, *network_);
    for (int slot = 0; slot < options.slots; ++slot)
      slots_.push_back(std::make_unique<CudaSlot>(model.graph(), largest_, target_, settings.samples));
    for (auto& slot : slots_) {
      for (const int64_t batch : options.batch_sizes) {
        if (replays_) slot->capture(*network_, batch);
      }
    }
    cuda::check(cuda::driver().cuCtxSynchronize(), "loading the model");
    if (replays_) held_by_graphs_ = memory_held_by_graphs(target_.device);
  }

  void launch(CudaSlot& slot, std::span<const uint32_t> samples) override {
    const c10::InferenceMode inference;
    slot.launch(*network_, samples_, samples, replays_);
  }

  // In the type and layout that the network computes in.
  std::optional<cuda::DeviceMemory> ready(size_t input, cuda::Address from, const Shape& sample, size_t count) const override {
    const c10::InferenceMode inference;
    Shape shape = sample;
    if (!shape.empty()) shape[0] *= static_cast<int64_t>(count);
    const auto options = at::TensorOptions(target_.device).dtype(torch_type(inputs_[input].type));
    const at::Tensor made = torch_input(at::from_blob(reinterpret_cast<void*>(from), shape, options), target_);
    cuda::DeviceMemory memory(made.nbytes());
    const auto stream = handle_of(c10::cuda::getCurrentCUDAStream(target_.device.index()));
    cuda::check(cuda::driver().cuMemcpyDtoDAsync_v2(memory.address(), reinterpret_cast<cuda::Address>(made.const_data_ptr()), made.nbytes(),
                                                    stream),
                "placing the samples");
    return memory;
  }

  void give_back() override { network_.reset(); }
  void leave() override { static_cast<void>(network_.release()); }

  const Model& model_;
  std::unique_ptr<TorchNetwork> network_;
};

}  // namespace

std::unique_ptr<Session> make_torch_cuda_session(const Model& model, const LoadOptions& options, const TorchSettings& settings) {
  try {
    return std::make_unique<TorchCudaSession>(model, options, settings);
  } catch (const std::exception& failure) {
    throw torch_error(failure, "loading the model");
  }
}

}  // namespace deepgap
