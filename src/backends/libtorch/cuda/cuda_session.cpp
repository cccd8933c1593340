#include "backends/libtorch/cuda/cuda_session.h"

#include "backends/libtorch/cuda/cuda_slot.h"
#include "backends/libtorch/torch_failure.h"
#include "backends/libtorch/torch_network.h"

#include <ATen/Context.h>
#include <c10/core/InferenceMode.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

// As ATen/cuda/CUDAContextLight.h has it. That header wants those of cuBLAS, cuSOLVER and cuSPARSE too, which come with a toolkit alone.
namespace at::cuda {
TORCH_CUDA_CPP_API void clearCublasWorkspaces();
}

namespace deepgap {
namespace {

TorchTarget target_of(const LoadOptions& options, const TorchSettings& settings) {
  TorchTarget target;
  target.device = at::Device(at::kCUDA, static_cast<at::DeviceIndex>(options.placement.devices.front().index));
  target.channels_last = settings.channels_last;
  target.replayed = settings.cuda_graph;
  if (options.precision == "bf16") target.floats = at::kBFloat16;
  if (options.precision == "fp16") target.floats = at::kHalf;
  if (options.precision == "mixed") target.autocast = at::kHalf;  // what PyTorch's autocast takes on a GPU
  return target;
}

constexpr size_t both = 0;  // of the allocator's statistics: small and large blocks together

class TorchCudaSession final : public Session {
 public:
  TorchCudaSession(const Model& model, const LoadOptions& options, const TorchSettings& settings)
      : clock_(*options.clock),
        completion_(options.completion),
        target_(target_of(options, settings)),
        tf32_(options.precision == "tf32"),
        replays_(settings.cuda_graph),
        model_(model),
        samples_("libtorch_cuda", ports(model.graph(), model.graph().inputs), settings.samples, target_) {
    try {
      prepare(model, options, settings);
    } catch (const std::exception& failure) {
      if (torch_error(failure, "loading the model").kind() == ErrorKind::device_lost) leave_to_the_process();
      throw;
    }
    thread_ = std::thread([this] { serve(); });
  }

  ~TorchCudaSession() override {
    TorchCudaSession::drain();
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    launched_ = true;
    wake_.notify_all();
    thread_.join();
    if (lost_) {
      leave_to_the_process();
      return;
    }
    slots_.clear();
    network_.reset();
    try {
      at::cuda::clearCublasWorkspaces();  // one of 32 MiB for each stream, kept for the process's life otherwise
      c10::cuda::CUDACachingAllocator::emptyCache();
    } catch (const std::exception&) {  // lost meanwhile
    }
  }

  int slots() const override { return static_cast<int>(slots_.size()); }
  void stage(std::span<const std::vector<TensorView>> inputs) override {
    const c10::InferenceMode inference;
    const c10::cuda::CUDAGuard device(target_.device);
    try {
      samples_.stage(inputs);
    } catch (const c10::Error& failure) {
      throw torch_error(failure, "placing the samples");
    }
    check_cuda(cudaDeviceSynchronize(), "placing the samples");
  }
  std::span<const TensorView> outputs(int slot) const override { return slots_.at(static_cast<size_t>(slot))->outputs(); }

  void enqueue(int index, std::span<const uint32_t> samples, uint64_t tag) override {
    throw_if_lost();
    CudaSlot& slot = *slots_.at(static_cast<size_t>(index));
    slot.enqueued = clock_.now();
    slot.tag = tag;
    {
      const std::lock_guard lock(mutex_);
      ++pending_;
    }
    try {
      const c10::InferenceMode inference;
      const c10::cuda::CUDAGuard device(target_.device);
      require_torch_batch(static_cast<int64_t>(samples.size()), largest_);
      require_captured(slot, static_cast<int64_t>(samples.size()));
      set_tf32();
      slot.launch(*network_, samples_, samples, replays_);
    } catch (const std::exception& failure) {
      cudaStreamSynchronize(slot.stream());  // what was launched before it failed may still read the slot's buffers
      fail(slot, torch_error(failure, "running the model"));
      return throw_if_lost();
    }
    {
      const std::lock_guard lock(mutex_);
      running_.push_back(&slot);
    }
    launched_ = true;
    wake_.notify_one();
  }

  void drain() override {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return pending_ == 0; });
  }

  void cancel() override { drain(); }  // what was launched runs to its end

  std::string last_error() const override {
    const std::lock_guard lock(mutex_);
    return last_error_;
  }

  MemoryUse memory() const override {
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(target_.device.index());
    return {stats.reserved_bytes[both].current, stats.allocated_bytes[both].current + held_by_graphs_,
            stats.allocated_bytes[both].peak + held_by_graphs_};
  }
  void reset_peak() override { c10::cuda::CUDACachingAllocator::resetPeakStats(target_.device.index()); }

  // By events around each node, eagerly: where launching takes longer than the work, the launches are what is timed.
  std::vector<LayerTiming> layer_timings() override {
    drain();
    const c10::InferenceMode inference;
    CudaSlot& slot = *slots_.front();
    const c10::cuda::CUDAStreamGuard guard(slot.stream());
    std::vector<LayerTiming> timings;
    std::vector<CudaEvent> events(1);
    events.front().record(slot.stream());
    const TorchNetwork::Around around = [&](const Node& node, const std::function<at::Tensor()>& work) {
      work();
      timings.push_back({node.name, node.op, 0});
      events.emplace_back();
      events.back().record(slot.stream());
    };
    network_->run(largest_, slot.device_inputs(largest_), &around);
    slot.stream().synchronize();
    for (size_t i = 0; i < timings.size(); ++i) timings[i].ns = events[i + 1].since(events[i]);
    return timings;
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
    check_cuda(cudaDeviceSynchronize(), "loading the model");
    if (replays_) measure_graphs();
  }

  // A captured graph keeps the memory that it works in, in a pool of its own; the allocator counts it as reserved, and none of it as
  // allocated. What is free in other segments is no graph's: samples that are staged later take it.
  void measure_graphs() {
    c10::cuda::CUDACachingAllocator::emptyCache();
    held_by_graphs_ = 0;
    for (const auto& segment : c10::cuda::CUDACachingAllocator::snapshot().segments) {
      const bool of_a_graph = segment.owner_private_pool_id != c10::cuda::MempoolId_t{0, 0};
      if (of_a_graph && segment.device == target_.device.index())
        held_by_graphs_ += static_cast<int64_t>(segment.total_size) - static_cast<int64_t>(segment.allocated_size);
    }
  }

  // On a lost device nothing can be given back, and trying to would end the process before the failure is told.
  void leave_to_the_process() {
    for (auto& slot : slots_) static_cast<void>(slot.release());
    static_cast<void>(network_.release());
  }

  // Of the process, so that each session says it again before it launches.
  void set_tf32() const {
    at::globalContext().setAllowTF32CuDNN(tf32_);
    at::globalContext().setAllowTF32CuBLAS(tf32_);
  }

  void require_captured(const CudaSlot& slot, int64_t batch) const {
    if (replays_ && !slot.captured(batch))
      throw Error(ErrorKind::input, fmt::format("libtorch: {} samples, and no CUDA graph was captured for that many at load", batch));
  }

  void throw_if_lost() const {
    const std::lock_guard lock(mutex_);
    if (lost_) throw Error(ErrorKind::device_lost, last_error_);
  }

  // Delivers queries as their last events pass. One alone is waited for; of several each is asked in turn.
  void serve() {
    cudaSetDevice(target_.device.index());
    std::unique_lock lock(mutex_);
    while (true) {
      if (running_.empty()) look_for_a_query(lock);
      wake_.wait(lock, [&] { return ending_ || !running_.empty(); });
      if (running_.empty()) return;
      const std::vector<CudaSlot*> running(running_.begin(), running_.end());
      lock.unlock();
      for (CudaSlot* slot : running) {
        if (ended(*slot, running.size() == 1)) take(*slot);
      }
      if (running.size() > 1) std::this_thread::yield();
      lock.lock();
    }
  }

  // A sleeping thread is woken tens of microseconds late, and a small network takes no longer: between queries that follow each other it
  // stays awake, where the host has CPUs to spare.
  void look_for_a_query(std::unique_lock<std::mutex>& lock) {
    constexpr Nanoseconds patience = 1'000'000;
    if (std::thread::hardware_concurrency() < 4) return;
    lock.unlock();
    for (const Nanoseconds until = clock_.now() + patience; !launched_.exchange(false) && clock_.now() < until;) __builtin_ia32_pause();
    lock.lock();
  }

  // True as well for one that failed: take() tells.
  static bool ended(const CudaSlot& slot, bool alone) {
    try {
      if (alone) slot.wait();
      return alone || slot.finished();
    } catch (const std::exception&) {
      return true;
    }
  }

  void take(CudaSlot& slot) {
    {
      const std::lock_guard lock(mutex_);
      running_.remove(&slot);
    }
    try {
      slot.wait();
      const auto [copied, computed, returned] = slot.durations();
      const std::array<Mark, 6> marks{{{MarkId::enqueued, 0, slot.enqueued},
                                       {MarkId::h2d_begin, 1, 0},
                                       {MarkId::compute_begin, 1, copied},
                                       {MarkId::compute_end, 1, computed},
                                       {MarkId::d2h_end, 1, returned},
                                       {MarkId::returned, 0, clock_.now()}}};
      deliver({.tag = slot.tag, .status = Status::ok, .marks = marks});
    } catch (const std::exception& failure) {
      fail(slot, torch_error(failure, "running the model"));
    }
  }

  void fail(const CudaSlot& slot, const Error& error) {
    {
      const std::lock_guard lock(mutex_);
      last_error_ = error.what();
      lost_ = lost_ || error.kind() == ErrorKind::device_lost;
    }
    deliver({.tag = slot.tag, .status = Status::failed, .marks = {}});
  }

  // Another thread may use the slot again as soon as the completion was called.
  void deliver(const Done& done) {
    completion_(std::span(&done, 1));
    const std::lock_guard lock(mutex_);
    --pending_;
    idle_.notify_all();
  }

  Clock& clock_;
  Completion completion_;
  TorchTarget target_;
  bool tf32_, replays_;
  const Model& model_;
  CudaSamples samples_;
  int64_t largest_ = 0;         // batch
  int64_t held_by_graphs_ = 0;  // bytes
  std::unique_ptr<TorchNetwork> network_;
  std::vector<std::unique_ptr<CudaSlot>> slots_;

  std::atomic<bool> launched_ = false;  // a query was added to running_ since the last look
  mutable std::mutex mutex_;            // of all below
  std::condition_variable wake_, idle_;
  std::list<CudaSlot*> running_;
  size_t pending_ = 0;  // enqueued and not delivered
  bool ending_ = false, lost_ = false;
  std::string last_error_;
  std::thread thread_;
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
