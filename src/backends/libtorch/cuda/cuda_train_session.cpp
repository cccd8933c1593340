#include "backends/libtorch/cuda/cuda_train_session.h"

#include "backends/common/train_ports.h"
#include "backends/libtorch/cuda/cuda_session_base.h"
#include "backends/libtorch/cuda/cuda_train_slot.h"
#include "backends/libtorch/cuda/nccl_averager.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>

#include <memory>
#include <optional>

namespace deepgap {
namespace {

TorchTarget target_of(const LoadOptions& options, const TorchSettings& settings) {
  TorchTarget target = cuda_target(options, settings);
  target.trains = true;
  if (options.precision == Precision::bf16) target.autocast = at::kBFloat16;
  if (options.precision == Precision::fp16 || options.precision == Precision::mixed) target.autocast = at::kHalf;
  return target;
}

// Its inputs are the Graph's, and the target behind them.
class TorchCudaTrainSession final : public CudaSessionBase<CudaTrainSlot> {
 public:
  TorchCudaTrainSession(const Model& model, const LoadOptions& options, const TorchSettings& settings)
      : CudaSessionBase(options, settings, target_of(options, settings), train_ports("libtorch", model.graph(), options.train),
                        "training the model") {
    load(options, settings, [&] { prepare(model, options, settings); });
  }
  ~TorchCudaTrainSession() override { end(); }

  void reset() override {
    apart([&] { trainer_->reset(); });
  }
  std::map<std::string, Tensor> trained_weights() override {
    std::map<std::string, Tensor> weights;
    apart([&] { weights = trainer_->copied_weights(); });
    return weights;
  }
  // The numbers come from a step before any graph was captured, which would take the memory a second time.
  MemoryKinds memory_kinds() override { return memory_kinds_; }
  LoadParts load_parts() const override { return averager_ ? LoadParts{{allreduce_alone, allreduce_alone_}} : LoadParts{}; }

 private:
  void prepare(const Model& model, const LoadOptions& options, const TorchSettings& settings) {
    stream_.emplace(c10::cuda::getStreamFromPool(false, target_.device.index()));
    const c10::cuda::CUDAStreamGuard guard(*stream_);
    trainer_ = std::make_unique<TorchTrainer>(model, target_, options.train);
    prepare_batches(model, options, *trainer_);
    if (options.train.ranks > 1) meet(options, settings);
    for (int slot = 0; slot < options.slots; ++slot)
      slots_.push_back(std::make_unique<CudaTrainSlot>(inputs_, largest_, target_, settings.samples, *stream_, options.train.ranks > 1));
    slots_.front()->run(*trainer_, largest_, 1);
    memory_kinds_ = trainer_->memory_kinds(largest_, slots_.front()->device_inputs(largest_));
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

  void launch(CudaTrainSlot& slot, std::span<const uint32_t> samples) override { slot.launch(*trainer_, samples_, samples, replays_); }
  void give_back() override {
    trainer_.reset();
    averager_.reset();
  }
  void leave() override {
    static_cast<void>(trainer_.release());
    static_cast<void>(averager_.release());
  }

  MemoryKinds memory_kinds_;
  std::optional<c10::cuda::CUDAStream> stream_;
  std::unique_ptr<NcclAverager> averager_;  // for several ranks
  Nanoseconds allreduce_alone_ = 0;
  std::unique_ptr<TorchTrainer> trainer_;
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
