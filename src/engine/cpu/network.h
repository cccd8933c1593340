// Network: a Graph compiled for the CPU for some batch sizes, with the memory it runs in. What the native backend's Session runs.
#pragma once

#include "engine/cpu/executable.h"
#include "engine/cpu/weights.h"

#include <deepgap/graph.h>

#include <map>
#include <memory>
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
};

// One thread at a time.
class Network {
 public:
  // The Graph is not needed afterwards, its constants are shared. Throws Error{refused} naming operator and node; Error{input} where a
  // shape depends on data (see shapes_are_static).
  Network(const Graph& graph, const NetworkOptions& options);

  struct Plan {
    int64_t batch = 1;
    int64_t parts = 1;                   // runs of the executable that make up the batch
    std::vector<Shape> inputs, outputs;  // of the batch
    std::vector<size_t> input_part_bytes, output_part_bytes;
    Executable* executable = nullptr;
  };
  // The smallest plan for at least `samples`; nullptr when there is none.
  const Plan* plan_for(int64_t samples) const;
  // Addresses of the whole batch's tensors.
  void run(const Plan& plan, std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs);
  // Timings of the first part, times the number of parts.
  std::vector<LayerTiming> run_timed(const Plan& plan, std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                                     const std::function<Nanoseconds()>& now);
  size_t arena_bytes() const { return arena_.bytes(); }
  size_t weight_bytes() const { return weight_bytes_; }

 private:
  Executable& executable_for(const Graph& unbound, int64_t samples, WeightStore& weights);
  Plan plan(const Graph& unbound, int64_t batch, WeightStore& weights);

  NetworkOptions options_;
  std::vector<int> cpus_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  Arena arena_;
  std::map<int64_t, std::unique_ptr<Executable>> executables_;  // by samples a run
  std::map<int64_t, Plan> plans_;                               // by batch size
  size_t weight_bytes_ = 0;
  std::vector<const std::byte*> input_addresses_;  // of the part that runs
  std::vector<std::byte*> output_addresses_;
};

// Whether every shape is known once the batch is: false for networks whose shapes depend on data.
bool shapes_are_static(const Graph& graph);

}  // namespace deepgap
