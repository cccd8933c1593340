#include "backends/libtorch/cuda/cuda_session.h"

#include "backends/common/staging.h"
#include "backends/libtorch/cuda/cuda_capture.h"
#include "backends/libtorch/cuda/cuda_memory.h"
#include "backends/libtorch/cuda/cuda_slot.h"
#include "backends/libtorch/torch_failure.h"
#include "backends/libtorch/torch_network.h"
#include "backends/libtorch/torch_types.h"
#include "cuda/completion_thread.h"
#include "cuda/samples.h"

#include <ATen/Context.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <optional>

namespace deepgap {
namespace {

TorchTarget target_of(const LoadOptions& options, const TorchSettings& settings) {
  TorchTarget target;
  target.device = at::Device(at::kCUDA, static_cast<at::DeviceIndex>(options.placement.devices.front().index));
  target.channels_last = settings.channels_last;
  target.replayed = settings.cuda_graph;
  if (options.precision == Precision::bf16) target.floats = at::kBFloat16;
  if (options.precision == Precision::fp16) target.floats = at::kHalf;
  if (options.precision == Precision::mixed) target.autocast = at::kHalf;  // what PyTorch's autocast takes on a GPU
  return target;
}

class TorchCudaSession final : public Session {
 public:
  TorchCudaSession(const Model& model, const LoadOptions& options, const TorchSettings& settings)
      : completion_(options.completion),
        context_(options.placement.devices.front().index),
        target_(target_of(options, settings)),
        tf32_(options.precision == Precision::tf32),
        replays_(settings.cuda_graph),
        model_(model),
        inputs_(ports(model.graph(), model.graph().inputs)),
        fitting_("libtorch_cuda", inputs_),
        samples_("libtorch_cuda", names_of(inputs_), settings.samples,
                 cuda::device_facts(options.placement.devices.front().index).architecture()) {
    try {
      prepare(model, options, settings);
    } catch (const std::exception& failure) {
      if (torch_error(failure, "loading the model").kind() == ErrorKind::device_lost) leave_to_the_process();
      throw;
    }
    in_flight_.emplace(context_, *options.clock, completion_);
  }

  ~TorchCudaSession() override {
    in_flight_->stop();
    if (in_flight_->lost()) {
      leave_to_the_process();
      return;
    }
    slots_.clear();
    network_.reset();
    try {
      give_back_cuda_memory();
    } catch (const std::exception&) {  // lost meanwhile
    }
  }

  int slots() const override { return static_cast<int>(slots_.size()); }
  void stage(std::span<const std::vector<TensorView>> inputs) override {
    const c10::InferenceMode inference;
    const c10::cuda::CUDAGuard device(target_.device);
    fitting_.stage(inputs);
    try {
      samples_.stage(inputs, [&](size_t input, cuda::Address from, size_t count) {
        const auto shape = inputs.front()[input].shape;
        return ready(input, from, {shape.begin(), shape.end()}, count);
      });
    } catch (const c10::Error& failure) {
      throw torch_error(failure, "placing the samples");
    }
    cuda::check(cuda::driver().cuCtxSynchronize(), "placing the samples");
  }
  std::span<const TensorView> outputs(int slot) const override { return slots_.at(static_cast<size_t>(slot))->outputs(); }

  void enqueue(int index, std::span<const uint32_t> samples, uint64_t tag) override {
    CudaSlot& slot = *slots_.at(static_cast<size_t>(index));
    in_flight_->enqueue(slot.events(), tag, [&] {
      try {
        const c10::InferenceMode inference;
        const c10::cuda::CUDAGuard device(target_.device);
        require_torch_batch(static_cast<int64_t>(samples.size()), largest_);
        require_captured(replays_, slot.captured(static_cast<int64_t>(samples.size())), static_cast<int64_t>(samples.size()));
        set_tf32();
        slot.launch(*network_, samples_, samples, replays_);
      } catch (const std::exception& failure) {
        // What was launched before it failed may still read the slot's buffers.
        static_cast<void>(cuda::driver().cuStreamSynchronize(handle_of(slot.stream())));
        throw torch_error(failure, "running the model");
      }
    });
  }
  void drain() override { in_flight_->drain(); }
  void cancel() override { drain(); }  // what was launched runs to its end

  // What the allocator took, and what was taken beside it for samples.
  MemoryUse memory() const override {
    return cuda_memory_use(target_.device, static_cast<int64_t>(context_.taken_bytes()), held_by_graphs_);
  }
  void reset_peak() override { c10::cuda::CUDACachingAllocator::resetPeakStats(target_.device.index()); }

  // By events around each node, eagerly: where launching takes longer than the work, the launches are what is timed.
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
    network_->run(largest_, slot.device_inputs(largest_), &around);
    slot.stream().synchronize();
    for (size_t i = 0; i < timings.size(); ++i) timings[i].ns = events[i + 1].since_ns(events[i]);
    return timings;
  }

  bool run_layers(const LayerMark& mark) override {
    drain();
    const c10::InferenceMode inference;
    CudaSlot& slot = *slots_.front();
    const c10::cuda::CUDAStreamGuard guard(slot.stream());
    bool told = false;
    const TorchNetwork::Around around = [&](const Node& node, const std::function<at::Tensor()>& work) {
      told = true;
      mark(node.name, node.op);
      work();
    };
    set_tf32();
    network_->run(largest_, slot.device_inputs(largest_), &around);
    slot.stream().synchronize();
    return told;
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
    at::globalContext().lazyInitDevice(at::kCUDA);
    const c10::InferenceMode inference;
    const c10::cuda::CUDAGuard device(target_.device);
    at::globalContext().setBenchmarkCuDNN(settings.cudnn_search);
    set_tf32();
    network_ = make_torch_network(model.graph(), target_, settings.package);
    for (const int64_t batch : options.batch_sizes) {
      largest_ = std::max(largest_, batch);
      input_shapes("libtorch_cuda", model.name(), ports(model.graph(), model.graph().inputs), batch);
      network_->prepare(batch);
    }
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

  // On a lost device nothing can be given back, and trying to would end the process before the failure is told.
  void leave_to_the_process() {
    for (auto& slot : slots_) static_cast<void>(slot.release());
    static_cast<void>(network_.release());
  }

  void set_tf32() const { allow_tf32(tf32_); }

  // Samples that lie at `from` one behind another, each of this shape, in the type and layout that the network computes in.
  std::optional<cuda::DeviceMemory> ready(size_t input, cuda::Address from, Shape shape, size_t count) const {
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

  Completion completion_;
  cuda::DeviceContext context_;
  TorchTarget target_;
  bool tf32_, replays_;
  const Model& model_;
  std::vector<Port> inputs_;
  Staging fitting_;  // refuses samples that do not fit
  cuda::Samples samples_;
  int64_t largest_ = 0;         // batch
  int64_t held_by_graphs_ = 0;  // bytes
  std::unique_ptr<TorchNetwork> network_;
  std::vector<std::unique_ptr<CudaSlot>> slots_;
  std::optional<cuda::CompletionThread> in_flight_;
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
