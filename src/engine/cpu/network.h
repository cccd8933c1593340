// Network: a Graph compiled for the CPU for some batch sizes, with the memory it runs in. What the native backend's Session runs.
#pragma once

#include "engine/cpu/executable.h"
#include "engine/cpu/lowering.h"
#include "engine/cpu/sharing.h"
#include "engine/cpu/team.h"
#include "engine/cpu/weights.h"
#include "engine/passes/passes.h"

#include <deepgap/graph.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

struct NetworkOptions {
  std::vector<int64_t> batch_sizes{1};
  int threads = 1;
  bool pin = true;  // threads stay on one CPU each, where there are enough
  // Samples that go through the network together. 0: the engine's choice. A batch is run part after part where its samples are
  // independent, so that what one layer writes is still in cache when the next one reads it.
  int64_t part = 0;
  // Position of the first thread's CPU among those that are allowed, for Networks that run beside each other.
  size_t first_cpu = 0;
  ComputeType compute_type = ComputeType::f32;
  // samples: where there are enough of them that are independent, else layers.
  Sharing sharing = Sharing::automatic;
};

// Shared by Networks of one Graph: what was made of the Graph, and the weights in the layouts of their primitives. Needed while Networks
// are made, not while they run. Used by one thread.
class NetworkSource {
 public:
  explicit NetworkSource(const Graph& graph, Integers integers = Integers::as_operators);

  const Graph& unbound() const { return unbound_; }
  const Graph& bound(int64_t batch);  // and optimized
  Integers integers() const { return integers_; }
  const dnnl::engine& engine() const { return engine_; }
  WeightStore& weights() { return weights_; }

 private:
  Integers integers_;
  Graph unbound_;
  std::map<int64_t, Graph> bound_;  // kept, since the WeightStore knows constants by their addresses
  dnnl::engine engine_;
  WeightStore weights_;
};

// One thread at a time; several Networks of one source may run at once.
class Network {
 public:
  // The source is not needed afterwards, its constants are shared. Throws Error{refused} naming operator and node; Error{input} where a
  // shape depends on data.
  Network(NetworkSource& source, const NetworkOptions& options);
  Network(const Graph& graph, const NetworkOptions& options, Integers integers = Integers::as_operators)
      : Network(NetworkSource(graph, integers), options) {}

  struct Plan {
    int64_t batch = 1;
    int64_t parts = 1;                   // runs of the executable that make up the batch
    std::vector<Shape> inputs, outputs;  // shapes for the batch
    std::vector<size_t> input_part_bytes, output_part_bytes;
    Executable* executable = nullptr;
    int64_t samples = 1;      // samples in a part
    bool by_samples = false;  // threads share samples: each has an executable of its own
  };
  // Returns the smallest plan for at least `samples`; nullptr when there is none.
  const Plan* plan_for(int64_t samples) const;
  // Runs on the addresses of the whole batch's tensors.
  void run(const Plan& plan, std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs);
  // Does the same and returns the time of each step: of all parts together.
  std::vector<LayerTiming> run_timed(const Plan& plan, std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                                     const std::function<Nanoseconds()>& now);
  PrecisionShares precision_shares() const;  // shares of the multiply-accumulates of the largest batch
  size_t arena_bytes() const;
  // Returns the constants it reads, by address: what several Networks share is there once.
  const std::map<const std::byte*, size_t>& weights() const { return weights_; }
  // Used by a thread that runs nothing else: it and its team stay where run() puts them.
  TeamScope team() const { return {options_.threads, cpus_}; }

 private:
  Network(NetworkSource&& source, const NetworkOptions& options) : Network(source, options) {}
  // State of one of several threads that share samples: it never meets the others' memory.
  struct Lane {
    Arena arena;
    dnnl::stream stream;
    std::map<int64_t, std::unique_ptr<Executable>> executables;  // by samples a run
    std::vector<const std::byte*> inputs;                        // addresses for the part that runs
    std::vector<std::byte*> outputs;
  };
  Executable& executable_for(NetworkSource& source, int64_t samples);
  void make_lanes(NetworkSource& source, int64_t samples);
  bool shares_samples(NetworkSource& source, const Graph& graph, int64_t batch) const;
  void run_by_samples(const Plan& plan, std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs);
  Plan plan(NetworkSource& source, int64_t batch);
  template <typename RunPart>
  void run_parts(const Plan& plan, std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, RunPart run_part);

  NetworkOptions options_;
  std::vector<int> cpus_;  // CPUs of its threads; empty: the system places them
  dnnl::engine engine_;
  dnnl::stream stream_;
  Arena arena_;
  std::vector<Lane> lanes_;                                     // none, or one for each thread
  std::map<int64_t, std::unique_ptr<Executable>> executables_;  // by samples a run
  std::map<int64_t, Plan> plans_;                               // by batch size
  std::map<const std::byte*, size_t> weights_;                  // bytes, by address
  std::vector<const std::byte*> input_addresses_;               // addresses for the part that runs
  std::vector<std::byte*> output_addresses_;
};

// Returns the bytes of all constants that any of them reads.
size_t weight_bytes(std::span<const Network* const> networks);

// Returns the first node whose shape depends on data, "NonZero, node n5": it is not known once the batch is. Empty if there is none. An If
// is such a node, and a Loop unless all that it carries keeps its size.
std::string shape_that_depends_on_data(const Graph& graph);

}  // namespace deepgap
