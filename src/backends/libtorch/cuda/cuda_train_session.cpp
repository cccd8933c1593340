#include "backends/libtorch/cuda/cuda_train_session.h"

#include "backends/common/staging.h"
#include "backends/libtorch/cuda/cuda_capture.h"
#include "backends/libtorch/cuda/cuda_memory.h"
#include "backends/libtorch/cuda/cuda_train_slot.h"
#include "backends/libtorch/cuda/nccl_averager.h"
#include "backends/libtorch/torch_failure.h"
#include "backends/libtorch/torch_network.h"
#include "backends/libtorch/train/train_ports.h"

#include <ATen/Context.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace deepgap {
namespace {

TorchTarget target_of(const LoadOptions& options, const TorchSettings& settings) {
  TorchTarget target;
  target.trains = true;
  target.device = at::Device(at::kCUDA, static_cast<at::DeviceIndex>(options.placement.devices.front().index));
  target.channels_last = settings.channels_last;
  target.replayed = settings.cuda_graph;
  if (options.precision == Precision::bf16) target.autocast = at::kBFloat16;
  if (options.precision == Precision::fp16 || options.precision == Precision::mixed) target.autocast = at::kHalf;
  return target;
}

class TorchCudaTrainSession final : public Session {
 public:
  TorchCudaTrainSession(const Model& model, const LoadOptions& options, const TorchSettings& settings)
      : completion_(options.completion),
        context_(options.placement.devices.front().index),
        target_(target_of(options, settings)),
        tf32_(options.precision == Precision::tf32),
        replays_(settings.cuda_graph),
        inputs_(train_ports(model.graph(), options.train)),
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

  ~TorchCudaTrainSession() override {
    in_flight_->stop();
    if (in_flight_->lost()) {
      leave_to_the_process();
      return;
    }
    slots_.clear();
    trainer_.reset();
    averager_.reset();
    try {
      give_back_cuda_memory();
    } catch (const std::exception&) {  // lost meanwhile
    }
  }

  int slots() const override { return static_cast<int>(slots_.size()); }
  void stage(std::span<const std::vector<TensorView>> inputs) override {
    const c10::cuda::CUDAGuard device(target_.device);
    fitting_.stage(inputs);
    samples_.stage(inputs, [](size_t, cuda::Address, size_t) { return std::optional<cuda::DeviceMemory>(); });
    cuda::check(cuda::driver().cuCtxSynchronize(), "placing the samples");
  }
  std::span<const TensorView> outputs(int slot) const override { return slots_.at(static_cast<size_t>(slot))->outputs(); }

  void enqueue(int index, std::span<const uint32_t> samples, uint64_t tag) override {
    CudaTrainSlot& slot = *slots_.at(static_cast<size_t>(index));
    in_flight_->enqueue(slot.events(), tag, [&] {
      try {
        const c10::cuda::CUDAGuard device(target_.device);
        const auto batch = static_cast<int64_t>(samples.size());
        require_torch_batch(batch, largest_);
        require_captured(replays_, slot.captured(batch), batch);
        allow_tf32(tf32_);
        slot.launch(*trainer_, samples_, samples, replays_);
      } catch (const std::exception& failure) {
        // What was launched before it failed may still read the slot's buffers.
        static_cast<void>(cuda::driver().cuStreamSynchronize(handle_of(*stream_)));
        throw torch_error(failure, "training the model");
      }
    });
  }
  void drain() override { in_flight_->drain(); }
  void cancel() override { drain(); }  // what was launched runs to its end

  MemoryUse memory() const override {
    return cuda_memory_use(target_.device, static_cast<int64_t>(context_.taken_bytes()), held_by_graphs_);
  }
  void reset_peak() override { c10::cuda::CUDACachingAllocator::resetPeakStats(target_.device.index()); }

  void reset() override {
    apart([&] { trainer_->reset(); });
  }
  std::map<std::string, Tensor> trained_weights() override {
    std::map<std::string, Tensor> weights;
    apart([&] { weights = trainer_->copied_weights(); });
    return weights;
  }
  // Of a step that ran before any graph was captured, which would take the memory a second time.
  MemoryKinds memory_kinds() override { return memory_kinds_; }
  LoadParts load_parts() const override { return averager_ ? LoadParts{{allreduce_alone, allreduce_alone_}} : LoadParts{}; }

 private:
  void prepare(const Model& model, const LoadOptions& options, const TorchSettings& settings) {
    at::globalContext().lazyInitDevice(at::kCUDA);
    const c10::cuda::CUDAGuard device(target_.device);
    at::globalContext().setBenchmarkCuDNN(settings.cudnn_search);
    allow_tf32(tf32_);
    stream_.emplace(c10::cuda::getStreamFromPool(false, target_.device.index()));
    const c10::cuda::CUDAStreamGuard guard(*stream_);
    trainer_ = std::make_unique<TorchTrainer>(model, target_, options.train);
    for (const int64_t batch : options.batch_sizes) {
      largest_ = std::max(largest_, batch);
      input_shapes("libtorch_cuda", model.name(), inputs_, batch);
      trainer_->prepare(batch);
    }
    if (options.train.ranks > 1) meet(options, settings);
    for (int slot = 0; slot < options.slots; ++slot)
      slots_.push_back(std::make_unique<CudaTrainSlot>(inputs_, largest_, target_, settings.samples, *stream_, options.train.ranks > 1));
    slots_.front()->run(*trainer_, largest_, 1);
    memory_kinds_ = trainer_->memory_kinds(largest_, slots_.front()->inputs(largest_));
    if (replays_) capture(options.batch_sizes);
    trainer_->reset();
    cuda::check(cuda::driver().cuCtxSynchronize(), "loading the model");
  }

  void meet(const LoadOptions& options, const TorchSettings& settings) {
    const std::string name = cuda::device_facts(options.placement.devices.front().index).name;
    averager_ = std::make_unique<NcclAverager>(options.exchange, options.train, name, *stream_);
    trainer_->average_gradients(*averager_, settings.bucket_bytes());
    allreduce_alone_ = time_all_reduce(*trainer_, *options.clock, [&] { stream_->synchronize(); });
  }

  void capture(const std::vector<int64_t>& batches) {
    const at::cuda::MempoolId_t pool = at::cuda::graph_pool_handle();
    for (const int64_t batch : batches) slots_.front()->run(*trainer_, batch, runs_before_capture);
    c10::cuda::CUDACachingAllocator::emptyCache();  // the graphs work in memory of their own
    for (auto& slot : slots_)
      for (const int64_t batch : batches) slot->capture(*trainer_, batch, pool);
    held_by_graphs_ = memory_held_by_graphs(target_.device);
  }

  template <typename Work>
  void apart(Work work) {
    drain();
    try {
      const c10::cuda::CUDAStreamGuard guard(*stream_);
      work();
      stream_->synchronize();
    } catch (const std::exception& failure) {
      throw torch_error(failure, "training the model");
    }
  }

  // On a lost device nothing can be given back, and trying to would end the process before the failure is told.
  void leave_to_the_process() {
    for (auto& slot : slots_) static_cast<void>(slot.release());
    static_cast<void>(trainer_.release());
    static_cast<void>(averager_.release());
  }

  Completion completion_;
  cuda::DeviceContext context_;
  TorchTarget target_;
  bool tf32_, replays_;
  std::vector<Port> inputs_;  // the target behind the Graph's
  Staging fitting_;           // refuses samples that do not fit
  cuda::Samples samples_;
  int64_t largest_ = 0;         // batch
  int64_t held_by_graphs_ = 0;  // bytes
  MemoryKinds memory_kinds_;
  std::optional<c10::cuda::CUDAStream> stream_;
  std::unique_ptr<NcclAverager> averager_;  // of several ranks
  Nanoseconds allreduce_alone_ = 0;
  std::unique_ptr<TorchTrainer> trainer_;
  std::vector<std::unique_ptr<CudaTrainSlot>> slots_;
  std::optional<cuda::CompletionThread> in_flight_;
};

}  // namespace

std::unique_ptr<Session> make_torch_cuda_train_session(const Model& model, const LoadOptions& options, const TorchSettings& settings) {
  try {
    return std::make_unique<TorchCudaTrainSession>(model, options, settings);
  } catch (const std::exception& failure) {
    throw torch_error(failure, "loading the model");
  }
}

}  // namespace deepgap
