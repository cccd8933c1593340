#include "engine/cpu/network.h"

#include "engine/cpu/lowering.h"
#include "engine/cpu/team.h"
#include "engine/passes/independent_samples.h"
#include "engine/passes/passes.h"
#include "model/graph_tools.h"

#include <algorithm>
#include <set>

namespace deepgap {
namespace {

// Where a network does little arithmetic on much data (depthwise convolutions), a few samples at a time are faster than a large batch:
// MobileNetV2 at batch 16 on two cores by 10 % with parts of 4. ResNets, which do 90 operations a byte, lose as much by it.
constexpr double memory_bound_flop_per_byte = 30;
constexpr int64_t memory_bound_part = 4;

Graph folded_graph(const Graph& unbound, int64_t batch) {
  Graph graph = bind_symbols(unbound, {{batch_symbol, batch}});
  fold_constants(graph);
  remove_dead(graph);
  return graph;
}

std::vector<size_t> part_bytes(const Graph& graph, const std::vector<ValueId>& ids, int64_t parts) {
  std::vector<size_t> bytes;
  for (ValueId id : ids)
    bytes.push_back(static_cast<size_t>(element_count(known_shape(graph, id)) / parts) *
                    byte_size(graph.values[static_cast<size_t>(id)].type));
  return bytes;
}

// Floating-point operations per byte of activations read or written.
double intensity(const Graph& bound) {
  double flop = 0, bytes = 0;
  for (const auto& node : bound.nodes) {
    const auto count = count_node(bound, node);
    flop += static_cast<double>(count.flop);
    bytes += static_cast<double>(count.bytes);
    for (ValueId id : node.inputs)
      if (const Tensor* constant = id == no_value ? nullptr : constant_of(bound, id)) bytes -= static_cast<double>(constant->bytes());
  }
  return flop / std::max(bytes, 1.0);
}

// `wanted` samples or fewer, so that equal parts make up the batch; 0: the engine's choice.
int64_t part_of(const Graph& unbound, const Graph& bound, int64_t batch, int64_t wanted, int threads) {
  if (wanted == 0) wanted = intensity(bound) < memory_bound_flop_per_byte ? std::max<int64_t>(memory_bound_part, threads) : batch;
  int64_t part = std::min(wanted, batch);
  while (batch % part != 0) --part;
  if (part == batch) return batch;
  const bool apart = samples_are_independent(bound, batch) && samples_are_independent(folded_graph(unbound, part), part);
  return apart ? part : batch;
}

Graph bound_graph(const Graph& unbound, int64_t batch) {
  Graph graph = bind_symbols(unbound, {{batch_symbol, batch}});
  optimize_bound(graph);
  return graph;
}

std::vector<Shape> shapes_of(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<Shape> shapes;
  for (ValueId id : ids) shapes.push_back(known_shape(graph, id));
  return shapes;
}

}  // namespace

bool shapes_are_static(const Graph& graph) {
  Graph optimized = graph;
  optimize_unbound(optimized);
  optimized = bound_graph(optimized, 1);
  const auto known = [&](ValueId id) {
    if (id == no_value) return true;
    const auto& dims = optimized.values[static_cast<size_t>(id)].dims;
    return dims && std::all_of(dims->begin(), dims->end(), [](const Dim& dim) { return dim.known(); });
  };
  return std::all_of(optimized.nodes.begin(), optimized.nodes.end(), [&](const Node& node) {
    return std::all_of(node.inputs.begin(), node.inputs.end(), known) && std::all_of(node.outputs.begin(), node.outputs.end(), known);
  });
}

Network::Network(const Graph& graph, const NetworkOptions& options)
    : options_(options), cpus_(options.pin ? allowed_cpus() : std::vector<int>{}), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
  const TeamScope team(options_.threads, cpus_);  // primitives are made for as many threads as will run them
  WeightStore weights(engine_, stream_);
  Graph unbound = graph;
  optimize_unbound(unbound);
  for (int64_t batch : options_.batch_sizes)
    if (!plans_.contains(batch)) plans_.emplace(batch, plan(unbound, batch, weights));
  std::set<const std::byte*> counted;
  for (auto& [samples, executable] : executables_) {
    executable->bind(arena_);
    for (const auto& buffer : executable->buffers())
      if (buffer.data && counted.insert(buffer.data.get()).second) weight_bytes_ += buffer.bytes;
  }
}

Executable& Network::executable_for(const Graph& unbound, int64_t samples, WeightStore& weights) {
  auto& made = executables_[samples];
  if (!made) {
    const Graph graph = bound_graph(unbound, samples);
    made = std::make_unique<Executable>(Lowering(graph, weights, engine_).lower(), engine_);
    arena_.reserve(made->arena_bytes());
  }
  return *made;
}

Network::Plan Network::plan(const Graph& unbound, int64_t batch, WeightStore& weights) {
  const Graph graph = folded_graph(unbound, batch);
  const int64_t part = part_of(unbound, graph, batch, options_.part, options_.threads);
  Plan plan{.batch = batch, .parts = batch / part, .inputs = shapes_of(graph, graph.inputs), .outputs = shapes_of(graph, graph.outputs)};
  plan.input_part_bytes = part_bytes(graph, graph.inputs, plan.parts);
  plan.output_part_bytes = part_bytes(graph, graph.outputs, plan.parts);
  plan.executable = &executable_for(unbound, part, weights);
  return plan;
}

const Network::Plan* Network::plan_for(int64_t samples) const {
  const auto it = plans_.lower_bound(samples);
  return it == plans_.end() ? nullptr : &it->second;
}

void Network::run(const Plan& plan, std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs) {
  const TeamScope team(options_.threads, cpus_);
  input_addresses_.assign(inputs.begin(), inputs.end());
  output_addresses_.assign(outputs.begin(), outputs.end());
  for (int64_t part = 0; part < plan.parts; ++part) {
    plan.executable->run(stream_, input_addresses_, output_addresses_);
    for (size_t i = 0; i < inputs.size(); ++i) input_addresses_[i] += plan.input_part_bytes[i];
    for (size_t i = 0; i < outputs.size(); ++i) output_addresses_[i] += plan.output_part_bytes[i];
  }
}

std::vector<LayerTiming> Network::run_timed(const Plan& plan, std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                                            const std::function<Nanoseconds()>& now) {
  run(plan, inputs, outputs);  // warm
  const TeamScope team(options_.threads, cpus_);
  auto timings = plan.executable->run_timed(stream_, inputs, outputs, now);
  for (auto& timing : timings) timing.ns *= plan.parts;
  return timings;
}

}  // namespace deepgap
