#include "backends/native/gpu_session.h"

#include "backends/common/option_choice.h"
#include "backends/common/quantized_file.h"
#include "backends/native/gpu_slot.h"
#include "base/file.h"
#include "cuda/compiler.h"
#include "engine/gpu/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

namespace deepgap {
namespace {

constexpr const char* engine = "native";

struct GpuOptions {
  GpuSamplePlace place = GpuSamplePlace::host;
  gpu::Tuning tuning = gpu::Tuning::quick;
  bool graph = true;
};

GpuOptions options_of(const LoadOptions& load) {
  GpuOptions options;
  options.place = option_choice<GpuSamplePlace>(
      engine, load.options, "inputs",
      {{"host", GpuSamplePlace::host}, {"device", GpuSamplePlace::device}, {"ready", GpuSamplePlace::ready}}, GpuSamplePlace::host);
  if (load.samples_change) {
    if (options.place != GpuSamplePlace::host)
      throw Error(ErrorKind::refused, "native: samples that change between queries (end to end) are copied by each query: inputs=host");
    options.place = GpuSamplePlace::caller;
  }
  // What deepgap tune notes on its Points has the same name.
  BackendOptions given = load.options;
  if (const auto note = given.find("tune"); note != given.end() && (note->second == "search" || note->second == "confirm"))
    given.erase(note);
  options.tuning = option_choice<gpu::Tuning>(
      engine, given, "tune", {{"off", gpu::Tuning::off}, {"quick", gpu::Tuning::quick}, {"full", gpu::Tuning::full}}, gpu::Tuning::quick);
  options.graph = option_choice<bool>(engine, load.options, "cuda_graph", {{"on", true}, {"off", false}}, true);
  return options;
}

gpu::GpuNumbers numbers_of(const std::string& precision) {
  using gpu::Compute;
  using gpu::Element;
  if (precision == "tf32") return {Compute::tf32, Element::f32};
  if (precision == "fp16" || precision == "mixed") return {Compute::f16, Element::f16};
  if (precision == "bf16") return {Compute::bf16, Element::bf16};
  return {Compute::f32, Element::f32};
}

gpu::NetworkOptions network_options(const LoadOptions& load, const GpuOptions& options) {
  gpu::NetworkOptions network;
  network.numbers = numbers_of(load.precision);
  network.integers = load.precision == "int8" ? Integers::computed_with : Integers::as_operators;
  network.batch_sizes = load.batch_sizes;
  network.tuning = options.tuning;
  network.cache_folder = load.cache_dir.empty() ? "" : load.cache_dir + "/native-cuda";
  network.threads = std::max<int>(static_cast<int>(std::thread::hardware_concurrency()), 1);
  network.inputs_ready = options.place == GpuSamplePlace::ready;
  return network;
}

gpu::Chip chip_of(const cuda::DeviceFacts& facts) { return {facts.architecture(), facts.multiprocessors, facts.shared_bytes}; }

size_t batch_bytes(const std::vector<Port>& inputs, int64_t batch) {
  size_t bytes = 0;
  for (const Port& port : inputs)
    if (const auto shape = port.shape(batch)) bytes += bytes_of(port.type, *shape);
  return bytes;
}

class GpuSession final : public Session {
 public:
  GpuSession(const Model& model, const LoadOptions& load, const GpuOptions& options)
      : clock_(*load.clock),
        completion_(load.completion),
        context_(load.placement.devices.front().index),
        facts_(cuda::device_facts(load.placement.devices.front().index)),
        network_(model.graph(), chip_of(facts_), facts_.name, network_options(load, options)),
        samples_(ports(model.graph(), model.graph().inputs), options.place, network_) {
    const int64_t largest = *std::max_element(load.batch_sizes.begin(), load.batch_sizes.end());
    const auto inputs = ports(model.graph(), model.graph().inputs);
    const size_t staged = options.place == GpuSamplePlace::caller ? batch_bytes(inputs, largest) : 0;
    for (int slot = 0; slot < load.slots; ++slot)
      slots_.push_back(std::make_unique<GpuSlot>(network_, model.graph(), staged, options.graph));
    thread_ = std::thread([this] { serve(); });
  }

  ~GpuSession() override {
    GpuSession::drain();
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    launched_ = true;
    wake_.notify_all();
    thread_.join();
  }

  int slots() const override { return static_cast<int>(slots_.size()); }
  void stage(std::span<const std::vector<TensorView>> inputs) override {
    context_.use();
    samples_.stage(inputs, slots_.front()->instance(), slots_.front()->stream());
    slots_.front()->synchronize();
  }
  std::span<const TensorView> outputs(int slot) const override { return slots_.at(static_cast<size_t>(slot))->outputs(); }

  void enqueue(int index, std::span<const uint32_t> samples, uint64_t tag) override {
    throw_if_lost();
    GpuSlot& slot = *slots_.at(static_cast<size_t>(index));
    slot.enqueued = clock_.now();
    slot.tag = tag;
    {
      const std::lock_guard lock(mutex_);
      ++pending_;
    }
    try {
      context_.use();
      slot.launch(samples_, samples);
    } catch (const Error& failure) {
      fail(slot, failure);
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
    size_t bytes = network_.weight_bytes() + samples_.device_bytes();
    for (const auto& slot : slots_) bytes += slot->bytes();
    const auto all = static_cast<int64_t>(bytes);
    return {all, all, all};  // all of it is taken at load
  }

  PrecisionShares precision_shares() override { return network_.precision_shares(); }

  std::vector<LayerTiming> layer_timings() override {
    drain();
    context_.use();
    GpuSlot& slot = *slots_.front();
    return slot.instance().timed(network_.programs().rbegin()->second, slot.stream());
  }

 private:
  void throw_if_lost() const {
    const std::lock_guard lock(mutex_);
    if (lost_) throw Error(ErrorKind::device_lost, last_error_);
  }

  // Delivers queries as their last events pass. One alone is waited for; of several each is asked in turn.
  void serve() {
    context_.use();
    std::unique_lock lock(mutex_);
    while (true) {
      if (running_.empty()) look_for_a_query(lock);
      wake_.wait(lock, [&] { return ending_ || !running_.empty(); });
      if (running_.empty()) return;
      const std::vector<GpuSlot*> running(running_.begin(), running_.end());
      lock.unlock();
      for (GpuSlot* slot : running)
        if (ended(*slot, running.size() == 1)) take(*slot);
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
  static bool ended(const GpuSlot& slot, bool alone) {
    try {
      if (alone) slot.wait();
      return alone || slot.finished();
    } catch (const Error&) {
      return true;
    }
  }

  void take(GpuSlot& slot) {
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
    } catch (const Error& failure) {
      fail(slot, failure);
    }
  }

  void fail(const GpuSlot& slot, const Error& error) {
    {
      const std::lock_guard lock(mutex_);
      last_error_ = error.what();
      lost_ = lost_ || error.kind() == ErrorKind::device_lost;
    }
    deliver({.tag = slot.tag, .status = Status::failed, .marks = {}});
  }

  // Another thread may use the slot again as soon as the completion was called.
  void deliver(const Done& done) {
    if (completion_) completion_(std::span(&done, 1));
    const std::lock_guard lock(mutex_);
    --pending_;
    idle_.notify_all();
  }

  Clock& clock_;
  Completion completion_;
  cuda::DeviceContext context_;
  cuda::DeviceFacts facts_;
  gpu::Network network_;
  GpuSamples samples_;
  std::vector<std::unique_ptr<GpuSlot>> slots_;

  std::atomic<bool> launched_ = false;  // a query was added to running_ since the last look
  mutable std::mutex mutex_;            // of all below
  std::condition_variable wake_, idle_;
  std::list<GpuSlot*> running_;
  size_t pending_ = 0;  // enqueued and not delivered
  bool ending_ = false, lost_ = false;
  std::string last_error_;
  std::thread thread_;
};

}  // namespace

std::vector<OptionInfo> gpu_option_infos() {
  return {
      {"inputs",
       "on cuda: host: a query copies its samples to the GPU; device: they were copied there before, and it gathers them there; ready: "
       "likewise, in the type and layout that the first operators read",
       "host"},
      {"tune", "on cuda: how kernels are chosen at load: off: by rule; quick: a few of each are measured; full: all are", "quick"},
      {"cuda_graph", "on cuda: on: the work of each batch size is recorded once and replayed; off: kernels are launched one by one", "on"}};
}

std::string gpu_absence() {
  try {
    cuda::device_count();
    cuda::compiler_description();
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

std::vector<DeviceInfo> gpu_devices() {
  std::vector<DeviceInfo> devices;
  if (!gpu_absence().empty()) return devices;
  for (int index = 0; index < cuda::device_count(); ++index) {
    const cuda::DeviceFacts facts = cuda::device_facts(index);
    std::map<std::string, std::string> properties{{"multiprocessors", std::to_string(facts.multiprocessors)},
                                                  {"compute_capability", fmt::format("{}.{}", facts.major, facts.minor)},
                                                  {"driver_cuda", fmt::format("{}.{}", facts.version / 1000, facts.version % 1000 / 10)},
                                                  {"compiler", cuda::compiler_description()}};
    if (!facts.pci.empty()) properties["pci"] = facts.pci;
    devices.push_back({DeviceId{"", "cuda", index}, facts.name, static_cast<int64_t>(facts.memory_bytes), properties});
  }
  return devices;
}

std::string gpu_precision_refusal(const std::string& precision, const GraphSummary& graph) {
  if (precision == "int8" && !is_quantized(graph))
    return "native: precision int8 needs a quantized file, with QuantizeLinear and DequantizeLinear; this one has none";
  constexpr std::array known{"fp32", "tf32", "fp16", "bf16", "mixed", "int8"};
  if (std::find(known.begin(), known.end(), precision) != known.end()) return {};
  return fmt::format(
      "native on cuda does not do precision {}: it computes in fp32, tf32, fp16, bf16, mixed (fp16), and int8 for quantized files",
      precision);
}

void check_gpu_options(const LoadOptions& options) { options_of(options); }

std::unique_ptr<Session> make_gpu_session(const Model& model, const LoadOptions& options) {
  if (options.batch_sizes.empty() || options.slots < 1)
    throw Error(ErrorKind::refused, "native: at least one batch size and slot are needed");
  const GpuOptions gpu = options_of(options);
  for (const int64_t batch : options.batch_sizes) input_shapes(engine, model.name(), ports(model.graph(), model.graph().inputs), batch);
  return std::make_unique<GpuSession>(model, options, gpu);
}

}  // namespace deepgap
