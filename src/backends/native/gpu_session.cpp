#include "backends/native/gpu_session.h"

#include "backends/common/quantized_file.h"
#include "backends/common/staging.h"
#include "backends/native/gpu_slot.h"
#include "cuda/compiler.h"
#include "cuda/completion_thread.h"
#include "cuda/device_infos.h"
#include "cuda/samples.h"
#include "engine/gpu/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace deepgap {
namespace {

constexpr const char* engine = "native";

gpu::GpuNumbers numbers_of(Precision precision) {
  using gpu::ComputeType;
  using gpu::Element;
  if (precision == Precision::tf32) return {ComputeType::tf32, Element::f32};
  if (precision == Precision::fp16 || precision == Precision::mixed) return {ComputeType::f16, Element::f16};
  if (precision == Precision::bf16) return {ComputeType::bf16, Element::bf16};
  if (precision == Precision::fp8) return {ComputeType::f16, Element::f16, true};
  return {ComputeType::f32, Element::f32};
}

gpu::NetworkOptions network_options(const LoadOptions& load, const NativeOptions& options) {
  gpu::NetworkOptions network;
  network.numbers = numbers_of(load.precision);
  network.integers = load.precision == Precision::int8 ? Integers::computed_with : Integers::as_operators;
  network.batch_sizes = gpu::compiled_sizes(load.batch_sizes);
  network.clock = load.clock;
  network.tuning = options.tuning;
  network.libraries = options.libraries;
  network.choices.hopper_attention = options.hopper_attention;
  network.cache_folder = load.cache_dir.empty() ? "" : load.cache_dir + "/native-cuda";
  network.inputs_ready = is_ready(load.inputs);
  return network;
}

gpu::Chip chip_of(const cuda::DeviceFacts& facts) { return {facts.architecture(), facts.multiprocessors, facts.shared_bytes}; }

cuda::DeviceFacts facts_for(const LoadOptions& load) {
  constexpr int first_with_float8 = 89;
  cuda::DeviceFacts facts = cuda::device_facts(load.placement.devices.front().index);
  if (load.precision == Precision::fp8 && facts.architecture() < first_with_float8)
    throw Error(ErrorKind::refused, fmt::format("native: {} (sm_{}) does not multiply in fp8: chips from sm_{} on do", facts.name,
                                                facts.architecture(), first_with_float8));
  return facts;
}

class GpuSession final : public Session {
 public:
  GpuSession(const Model& model, const LoadOptions& load, const NativeOptions& options)
      : completion_(load.completion),
        context_(load.placement.devices.front().index),
        facts_(facts_for(load)),
        network_(model.graph(), chip_of(facts_), facts_.name, network_options(load, options)),
        inputs_(ports(model.graph(), model.graph().inputs)),
        fitting_(engine, inputs_),
        samples_(engine, names_of(inputs_), cuda::sample_place(load), facts_.architecture()) {
    const Nanoseconds begin = load.clock->now();
    for (int slot = 0; slot < load.slots; ++slot)
      slots_.push_back(std::make_unique<GpuSlot>(network_, model.graph(), cuda::sample_place(load), options.cuda_graph, load.slots == 1));
    set_order(options.overlap, *load.clock);
    load_parts_ = network_.load_parts();
    load_parts_["graph"] = load.clock->now() - begin;
    in_flight_.emplace(context_, *load.clock, completion_);
  }

  int slots() const override { return static_cast<int>(slots_.size()); }
  void stage(std::span<const std::vector<TensorView>> inputs) override {
    context_.use();
    fitting_.stage(inputs);
    samples_.stage(inputs, [&](size_t input, cuda::Address from, size_t count) {
      return slots_.front()->ready(input, from, inputs.front()[input].bytes(), count);
    });
  }
  std::span<const TensorView> outputs(int slot) const override { return slots_.at(static_cast<size_t>(slot))->outputs(); }

  void enqueue(int index, std::span<const uint32_t> samples, uint64_t tag) override {
    GpuSlot& slot = *slots_.at(static_cast<size_t>(index));
    in_flight_->enqueue(slot.events(), tag, [&] {
      context_.use();
      slot.launch(samples_, samples, order_);
    });
  }
  void drain() override { in_flight_->drain(); }
  void cancel() override { drain(); }  // what was launched runs to its end

  // Returns the process's memory, as the driver gave it: several Sessions on a device return the same.
  MemoryUse memory() const override {
    const auto taken = static_cast<int64_t>(context_.taken_bytes());
    return {taken, taken, static_cast<int64_t>(context_.peak_bytes())};
  }
  void reset_peak() override { context_.reset_peak(); }

  PrecisionShares precision_shares() override { return network_.precision_shares(); }
  LoadParts load_parts() const override { return load_parts_; }

  std::vector<LayerTiming> layer_timings() override {
    drain();
    context_.use();
    return slots_.front()->layer_timings(samples_);
  }
  bool run_layers(const LayerMark& mark) override {
    drain();
    context_.use();
    slots_.front()->run_layers(samples_, mark);
    return true;
  }

 private:
  void set_order(Overlap overlap, const Clock& clock) {
    if (slots_.size() < 2 || overlap == Overlap::always) return;
    for (const auto& [batch, program] : network_.programs()) {
      const auto slot = [&, &work = program](size_t index) {
        GpuSlot* of = slots_[index].get();
        return ComputeOrder::Slot{[of, &work] { of->run(work); }, [of] { of->wait(); }};
      };
      if (overlap == Overlap::never || !ComputeOrder::gains_beside(slot(0), slot(1), clock)) order_.take_turns(batch);
    }
  }

  Completion completion_;
  cuda::DeviceContext context_;
  cuda::DeviceFacts facts_;
  gpu::Network network_;
  std::vector<Port> inputs_;
  Staging fitting_;  // refuses samples that do not fit
  cuda::Samples samples_;
  LoadParts load_parts_;
  std::vector<std::unique_ptr<GpuSlot>> slots_;
  ComputeOrder order_;
  std::optional<cuda::CompletionThread> in_flight_;  // uses what stands above, so it ends first
};

}  // namespace

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
  if (!gpu_absence().empty()) return {};
  std::vector<DeviceInfo> devices = cuda::device_infos();
  const std::string libraries = gpu::library_description();
  for (DeviceInfo& device : devices) {
    device.properties["compiler"] = cuda::compiler_description();
    device.properties["libraries"] = libraries;
  }
  return devices;
}

// The version leaves out the compiler's path.
std::string gpu_version(bool libraries) {
  const std::string compiler = cuda::compiler_description(), others = libraries ? gpu::library_versions() : "";
  return "own kernels, " + compiler.substr(0, compiler.find(',')) + (others.empty() ? "" : ", " + others);
}

std::string gpu_precision_refusal(Precision precision, const GraphSummary& graph) {
  if (precision == Precision::int8 && !is_quantized(graph) && !computes_integers(graph))
    return "native: precision int8 needs a quantized file, with QuantizeLinear and DequantizeLinear; this one has none";
  if (precision == Precision::fp8) {
    if (is_quantized(graph)) return "native on cuda does not do precision fp8 of a quantized file: ask for int8";
    if (find_operator(graph, "MatMul") == nullptr && find_operator(graph, "Gemm") == nullptr)
      return "native on cuda does precision fp8 in products with constant weights (MatMul, Gemm), and this network has none";
  }
  if (precision != Precision::fp4) return {};
  return fmt::format(
      "native on cuda does not do precision {}: it computes in fp32, tf32, fp16, bf16, mixed (fp16), fp8 (products, on sm_89 and later), "
      "and "
      "int8 for quantized files",
      name_of(precision));
}

std::unique_ptr<Session> make_gpu_session(const Model& model, const LoadOptions& options, const NativeOptions& native) {
  for (const int64_t batch : options.batch_sizes) input_shapes(engine, model.name(), ports(model.graph(), model.graph().inputs), batch);
  return std::make_unique<GpuSession>(model, options, native);
}

}  // namespace deepgap
