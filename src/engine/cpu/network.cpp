#include "engine/cpu/network.h"

#include "engine/cpu/fusion.h"
#include "engine/cpu/isa.h"
#include "engine/cpu/pieces.h"
#include "engine/passes/edit.h"
#include "engine/passes/independent_samples.h"
#include "engine/passes/loops.h"
#include "engine/passes/quantization.h"
#include "model/eval/evaluator.h"
#include "model/graph_tools.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>

namespace deepgap {
namespace {

// If a network does little arithmetic on much data (depthwise convolutions), a few samples at a time are faster than a large batch:
// MobileNetV2 at batch 16 on two cores by 10 % with parts of 4. ResNets, which do 90 operations a byte, lose as much by it; and so does
// MobileNetV2 (11) once its activations take two bytes or one instead of four.
constexpr double memory_bound_flop_per_byte = 20;
constexpr int64_t memory_bound_part = 4;

std::vector<size_t> part_bytes(const Graph& graph, const std::vector<ValueId>& ids, int64_t parts) {
  std::vector<size_t> bytes;
  for (ValueId id : ids)
    bytes.push_back(static_cast<size_t>(element_count(known_shape(graph, id)) / parts) *
                    byte_size(graph.values[static_cast<size_t>(id)].type));
  return bytes;
}

// Operations per byte of activations read or written, when each takes `activation_bytes`.
double intensity(const Graph& bound, double activation_bytes) {
  double flop = 0, bytes = 0;
  for (const auto& node : bound.nodes) {
    if (is_quantize(node) || is_dequantize(node)) continue;  // fused away
    if (!has_known_shapes(bound, node)) continue;            // a few boxes among many pixels
    const auto count = count_node(bound, node);
    flop += static_cast<double>(count.flop);
    bytes += static_cast<double>(count.bytes);
    for (ValueId id : node.inputs)
      if (const Tensor* constant = id == no_value ? nullptr : constant_of(bound, id)) bytes -= static_cast<double>(constant->bytes());
  }
  return flop / std::max(bytes / sizeof(float) * activation_bytes, 1.0);
}

// `wanted` samples or fewer, so that equal parts make up the batch; 0: the engine's choice.
int64_t part_of(const Graph& unbound, const Graph& bound, int64_t batch, int64_t wanted, int threads, double activation_bytes) {
  if (wanted == 0)
    wanted = intensity(bound, activation_bytes) < memory_bound_flop_per_byte ? std::max<int64_t>(memory_bound_part, threads) : batch;
  int64_t part = std::min(wanted, batch);
  while (batch % part != 0) --part;
  if (part == batch) return batch;
  return runs_in_parts(unbound, bound, batch, part) ? part : batch;
}

std::vector<int> cpus_from(size_t first) {
  std::vector<int> cpus = allowed_cpus();
  cpus.erase(cpus.begin(), cpus.begin() + static_cast<std::ptrdiff_t>(std::min(first, cpus.size())));
  return cpus;
}

}  // namespace

std::string shape_that_depends_on_data(const Graph& graph) {
  Graph optimized = graph;
  close_loops(optimized);
  for (const Node& node : optimized.nodes)
    if (evaluates_bodies(node)) return fmt::format("{}, node {}", node.op, node.name);
  optimize_unbound(optimized, cpu_fusion_rules(Integers::as_operators));
  optimized = bound_graph(optimized, 1, cpu_fusion_rules(Integers::as_operators));
  for (const Node& node : optimized.nodes)
    if (!has_known_shapes(optimized, node) || (is_closed_loop(node) && !keeps_sizes(node)))
      return fmt::format("{}, node {}", node.op, node.name);
  return {};
}

NetworkSource::NetworkSource(const Graph& graph, Integers integers)
    : integers_(integers), unbound_(graph), engine_(dnnl::engine::kind::cpu, 0), weights_(engine_, dnnl::stream(engine_)) {
  close_loops(unbound_);
  optimize_unbound(unbound_, cpu_fusion_rules(integers));
}

const Graph& NetworkSource::bound(int64_t batch) {
  const auto found = bound_.find(batch);
  return found != bound_.end() ? found->second
                               : bound_.emplace(batch, bound_graph(unbound_, batch, cpu_fusion_rules(integers_))).first->second;
}

Network::Network(NetworkSource& source, const NetworkOptions& options)
    : options_(options),
      cpus_(options.pin ? cpus_from(options.first_cpu) : std::vector<int>{}),
      engine_(source.engine()),
      stream_(engine_) {
  const TeamScope scope = team();  // primitives are made for as many threads as will run them
  for (int64_t batch : options_.batch_sizes)
    if (!plans_.contains(batch)) plans_.emplace(batch, plan(source, batch));
  for (auto& [samples, executable] : executables_) executable->bind(arena_);
  for (Lane& lane : lanes_)
    for (auto& [samples, executable] : lane.executables) executable->bind(lane.arena);
  const auto add_weights = [&](const Executable& executable) {
    for (const auto& buffer : executable.buffers())
      if (buffer.data) weights_.emplace(buffer.data.get(), buffer.bytes);
  };
  for (const auto& [samples, executable] : executables_) add_weights(*executable);
  if (!lanes_.empty())
    for (const auto& [samples, executable] : lanes_[0].executables) add_weights(*executable);
}

Executable& Network::executable_for(NetworkSource& source, int64_t samples) {
  auto& made = executables_[samples];
  if (!made) {
    made = std::make_unique<Executable>(Lowering(source.bound(samples), source.weights(), engine_, options_.compute_type).lower(), engine_);
    arena_.reserve(made->arena_bytes());
  }
  return *made;
}

// Lowered once, for one thread; the lanes have its primitives in common.
void Network::make_lanes(NetworkSource& source, int64_t samples) {
  if (lanes_.empty())
    for (int i = 0; i < options_.threads; ++i) lanes_.push_back({.arena = {}, .stream = dnnl::stream(engine_)});
  if (lanes_[0].executables.contains(samples)) return;
  const TeamScope alone(1, {});
  const CpuPlan plan = Lowering(source.bound(samples), source.weights(), engine_, options_.compute_type).lower();
  for (Lane& lane : lanes_) {
    auto& made = lane.executables[samples];
    made = std::make_unique<Executable>(plan, engine_);
    lane.arena.reserve(made->arena_bytes());
  }
}

// Automatic sharing is used where it was measured to be faster: on CPUs without AVX-512, with several samples for each thread.
bool Network::shares_samples(NetworkSource& source, const Graph& graph, int64_t batch) const {
  if (options_.threads == 1 || options_.sharing == Sharing::layers) return false;
  if (options_.sharing == Sharing::automatic && (uses_avx512() || batch < 2 * options_.threads)) return false;
  return batch >= options_.threads && runs_in_parts(source.unbound(), graph, batch, 1);
}

Network::Plan Network::plan(NetworkSource& source, int64_t batch) {
  const Graph graph = folded_graph(source.unbound(), batch);
  const double activation_bytes = source.integers() == Integers::computed_with ? 1 : options_.compute_type == ComputeType::bf16 ? 2 : 4;
  const bool by_samples = shares_samples(source, graph, batch);
  // Idle threads take the next sample, so a part is one sample unless the options ask for more.
  const int64_t wanted = by_samples && options_.part == 0 ? 1 : options_.part;
  const int64_t part = part_of(source.unbound(), graph, batch, wanted, options_.threads, activation_bytes);
  Plan plan{
      .batch = batch, .parts = batch / part, .inputs = known_shapes(graph, graph.inputs), .outputs = known_shapes(graph, graph.outputs)};
  plan.input_part_bytes = part_bytes(graph, graph.inputs, plan.parts);
  plan.output_part_bytes = part_bytes(graph, graph.outputs, plan.parts);
  plan.by_samples = by_samples && plan.parts >= options_.threads;
  if (plan.by_samples) {
    make_lanes(source, part);
    plan.executable = lanes_[0].executables[part].get();
    plan.samples = part;
  } else {
    plan.executable = &executable_for(source, part);
  }
  return plan;
}

size_t Network::arena_bytes() const {
  size_t bytes = arena_.bytes();
  for (const Lane& lane : lanes_) bytes += lane.arena.bytes();
  return bytes;
}

const Network::Plan* Network::plan_for(int64_t samples) const {
  const auto it = plans_.lower_bound(samples);
  return it == plans_.end() ? nullptr : &it->second;
}

PrecisionShares Network::precision_shares() const {
  PrecisionShares shares;
  if (plans_.empty()) return shares;
  double all = 0;
  const auto& macs = plans_.rbegin()->second.executable->macs();
  for (const auto& [precision, count] : macs) all += static_cast<double>(count);
  for (const auto& [precision, count] : macs) shares[precision] = static_cast<double>(count) / all;
  return shares;
}

// Each part with its addresses in input_addresses_ and output_addresses_.
template <typename RunPart>
void Network::run_parts(const Plan& plan, std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, RunPart run_part) {
  const TeamScope scope = team();
  input_addresses_.assign(inputs.begin(), inputs.end());
  output_addresses_.assign(outputs.begin(), outputs.end());
  for (int64_t part = 0; part < plan.parts; ++part) {
    run_part();
    for (size_t i = 0; i < inputs.size(); ++i) input_addresses_[i] += plan.input_part_bytes[i];
    for (size_t i = 0; i < outputs.size(); ++i) output_addresses_[i] += plan.output_part_bytes[i];
  }
}

// Each thread takes parts through all layers. What goes wrong on one is thrown when all are done.
void Network::run_by_samples(const Plan& plan, std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs) {
  const TeamScope scope = team();
  std::exception_ptr failure;
  for_pieces(plan.parts, options_.threads, [&](int thread, int64_t part) {
    try {
      Lane& lane = lanes_[static_cast<size_t>(thread)];
      const auto position = static_cast<size_t>(part);
      lane.inputs.assign(inputs.begin(), inputs.end());
      lane.outputs.assign(outputs.begin(), outputs.end());
      for (size_t i = 0; i < inputs.size(); ++i) lane.inputs[i] += position * plan.input_part_bytes[i];
      for (size_t i = 0; i < outputs.size(); ++i) lane.outputs[i] += position * plan.output_part_bytes[i];
      lane.executables.find(plan.samples)->second->run(lane.stream, lane.inputs, lane.outputs);
    } catch (...) {
#pragma omp critical(deepgap_failed_part)
      failure = std::current_exception();
    }
  });
  if (failure) std::rethrow_exception(failure);
}

void Network::run(const Plan& plan, std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs) {
  if (plan.by_samples) return run_by_samples(plan, inputs, outputs);
  run_parts(plan, inputs, outputs, [&] { plan.executable->run(stream_, input_addresses_, output_addresses_); });
}

std::vector<LayerTiming> Network::run_timed(const Plan& plan, std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                                            const std::function<Nanoseconds()>& now) {
  std::vector<LayerTiming> timings;
  for (const Step& step : plan.executable->steps()) timings.push_back({step.name, step.op, 0});
  run_parts(plan, inputs, outputs, [&] { plan.executable->run_timed(stream_, input_addresses_, output_addresses_, now, timings); });
  // One thread did all of it, where in plain runs several work beside each other.
  if (plan.by_samples)
    for (LayerTiming& timing : timings) timing.ns /= options_.threads;
  return timings;
}

size_t weight_bytes(std::span<const Network* const> networks) {
  std::map<const std::byte*, size_t> all;
  for (const Network* network : networks) all.insert(network->weights().begin(), network->weights().end());
  size_t bytes = 0;
  for (const auto& [data, size] : all) bytes += size;
  return bytes;
}

}  // namespace deepgap
