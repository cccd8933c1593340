// The common part of LibTorch Sessions on a GPU, whatever a query computes: samples there, slots, what is in flight, and how they end. The
// caller's thread launches, and one thread of the session waits for events and delivers.
#pragma once

#include "backends/common/staging.h"
#include "backends/libtorch/cuda/cuda_capture.h"
#include "backends/libtorch/cuda/cuda_inputs.h"
#include "backends/libtorch/cuda/cuda_memory.h"
#include "backends/libtorch/torch_failure.h"
#include "backends/libtorch/torch_network.h"
#include "backends/libtorch/torch_settings.h"
#include "backends/libtorch/torch_types.h"
#include "cuda/completion_thread.h"
#include "cuda/samples.h"

#include <deepgap/backend.h>

#include <ATen/Context.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace deepgap {

// Returns the target without the types that its numbers are computed in.
inline TorchTarget cuda_target(const LoadOptions& options, const TorchSettings& settings) {
  TorchTarget target;
  target.device = at::Device(at::kCUDA, static_cast<at::DeviceIndex>(options.placement.devices.front().index));
  target.channels_last = settings.channels_last;
  target.replayed = settings.cuda_graph;
  return target;
}

// A class that derives from this loads with load(), and ends with end() in its destructor. `Slot` is a CudaQuery.
template <typename Slot>
class CudaSessionBase : public Session {
 public:
  int slots() const override { return static_cast<int>(slots_.size()); }
  void stage(std::span<const std::vector<TensorView>> inputs) override {
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
    Slot& slot = *slots_.at(static_cast<size_t>(index));
    in_flight_->enqueue(slot.events(), tag, [&] {
      try {
        const c10::cuda::CUDAGuard device(target_.device);
        const auto batch = static_cast<int64_t>(samples.size());
        require_torch_batch(batch, largest_);
        require_captured(replays_, slot.captured(batch), batch);
        allow_tf32(tf32_);
        launch(slot, samples);
      } catch (const std::exception& failure) {
        // Work that was launched before the failure may still read the slot's buffers.
        static_cast<void>(cuda::driver().cuStreamSynchronize(handle_of(slot.stream())));
        throw torch_error(failure, doing_);
      }
    });
  }
  void drain() override { in_flight_->drain(); }
  void cancel() override { drain(); }  // what was launched runs to its end

  // Returns what the allocator took, and what was taken beside it for samples.
  MemoryUse memory() const override {
    return cuda_memory_use(target_.device, static_cast<int64_t>(context_.taken_bytes()), held_by_graphs_);
  }
  void reset_peak() override { c10::cuda::CUDACachingAllocator::resetPeakStats(target_.device.index()); }

 protected:
  // `doing` says what a query does ("running the model").
  CudaSessionBase(const LoadOptions& options, const TorchSettings& settings, TorchTarget target, std::vector<Port> inputs,
                  const char* doing)
      : completion_(options.completion),
        context_(options.placement.devices.front().index),
        target_(target),
        tf32_(options.precision == Precision::tf32),
        replays_(settings.cuda_graph),
        inputs_(std::move(inputs)),
        samples_("libtorch_cuda", names_of(inputs_), settings.samples,
                 cuda::device_facts(options.placement.devices.front().index).architecture()),
        doing_(doing),
        fitting_("libtorch_cuda", inputs_) {}

  // Loads by calling `prepare`; then queries may come.
  template <typename Prepare>
  void load(const LoadOptions& options, const TorchSettings& settings, const Prepare& prepare) {
    try {
      at::globalContext().lazyInitDevice(at::kCUDA);
      const c10::cuda::CUDAGuard device(target_.device);
      at::globalContext().setBenchmarkCuDNN(settings.cudnn_search);
      allow_tf32(tf32_);
      prepare();
    } catch (const std::exception& failure) {
      if (torch_error(failure, "loading the model").kind() == ErrorKind::device_lost) {
        leave_to_the_process();
      } else {
        slots_.clear();
      }
      throw;
    }
    in_flight_.emplace(context_, *options.clock, completion_);
  }

  // Each batch size that may come, to what computes it.
  template <typename Network>
  void prepare_batches(const Model& model, const LoadOptions& options, Network& network) {
    for (const int64_t batch : options.batch_sizes) {
      largest_ = std::max(largest_, batch);
      input_shapes("libtorch_cuda", model.name(), inputs_, batch);
      network.prepare(batch);
    }
  }

  void end() {
    in_flight_->stop();
    if (in_flight_->lost()) return leave_to_the_process();
    slots_.clear();
    give_back();
    try {
      give_back_cuda_memory();
    } catch (const std::exception&) {  // lost meanwhile
    }
  }

  // Queues the query's work. The device is the current one.
  virtual void launch(Slot& slot, std::span<const uint32_t> samples) = 0;
  // Samples that lie at `from` one behind another, each of this shape, as queries read them; nullopt: as they are.
  virtual std::optional<cuda::DeviceMemory> ready(size_t /*input*/, cuda::Address /*from*/, const Shape& /*shape*/,
                                                  size_t /*count*/) const {
    return std::nullopt;
  }
  // Slots free what they worked with, or leave it: on a lost device nothing can be freed, and trying to would end the process before the
  // failure is reported.
  virtual void give_back() = 0;
  virtual void leave() = 0;

  Completion completion_;
  cuda::DeviceContext context_;
  TorchTarget target_;
  bool tf32_, replays_;
  std::vector<Port> inputs_;
  cuda::Samples samples_;
  int64_t largest_ = 0;         // batch
  int64_t held_by_graphs_ = 0;  // bytes
  std::vector<std::unique_ptr<Slot>> slots_;

 private:
  void leave_to_the_process() {
    for (auto& slot : slots_) static_cast<void>(slot.release());
    leave();
  }

  const char* doing_;
  Staging fitting_;  // refuses samples that do not fit
  std::optional<cuda::CompletionThread> in_flight_;
};

}  // namespace deepgap
