#include "engine/cpu/network.h"

#include "engine/cpu/lowering.h"
#include "engine/cpu/team.h"
#include "engine/passes/passes.h"
#include "model/graph_tools.h"

#include <algorithm>
#include <set>

namespace deepgap {
namespace {

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
    if (!plans_.contains(batch)) plans_.emplace(batch, compile(unbound, batch, weights));
  std::set<const std::byte*> counted;
  for (auto& [batch, plan] : plans_) {
    plan.executable->bind(arena_);
    for (const auto& buffer : plan.executable->buffers())
      if (buffer.data && counted.insert(buffer.data.get()).second) weight_bytes_ += buffer.bytes;
  }
}

Network::Plan Network::compile(const Graph& unbound, int64_t batch, WeightStore& weights) {
  const Graph graph = bound_graph(unbound, batch);
  Plan plan{batch, shapes_of(graph, graph.inputs), shapes_of(graph, graph.outputs), nullptr};
  plan.executable = std::make_unique<Executable>(Lowering(graph, weights, engine_).lower(), engine_);
  arena_.reserve(plan.executable->arena_bytes());
  return plan;
}

const Network::Plan* Network::plan_for(int64_t samples) const {
  const auto it = plans_.lower_bound(samples);
  return it == plans_.end() ? nullptr : &it->second;
}

void Network::run(const Plan& plan, std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs) {
  const TeamScope team(options_.threads, cpus_);
  plan.executable->run(stream_, inputs, outputs);
}

std::vector<LayerTiming> Network::run_timed(const Plan& plan, std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                                            const std::function<Nanoseconds()>& now) {
  const TeamScope team(options_.threads, cpus_);
  return plan.executable->run_timed(stream_, inputs, outputs, now);
}

}  // namespace deepgap
