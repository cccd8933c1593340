// A network compiled for a GPU: programs for batch sizes, which share weights, kernels and, in each instance, memory. Used by the native
// Session.
//
// Threads: one makes the network; its Instances (instance.h) are used by one thread each at a time, the context current.
#pragma once

#include "cuda/objects.h"
#include "engine/gpu/find_chains.h"
#include "engine/gpu/kernels.h"
#include "engine/gpu/lowering.h"
#include "engine/gpu/tuner.h"
#include "engine/gpu/weight_packer.h"
#include "engine/passes/passes.h"

#include <deepgap/clock.h>
#include <deepgap/session.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace deepgap::gpu {

struct NetworkOptions {
  GpuNumbers numbers;
  Integers integers = Integers::as_operators;
  std::vector<int64_t> batch_sizes{1};
  Tuning tuning = Tuning::quick;
  bool libraries = false;  // the tuner measures what NVIDIA's libraries do, too, where they are found
  KernelChoices choices;
  std::string cache_folder;      // empty: nothing is kept
  bool inputs_ready = false;     // the caller brings inputs as the first operators read them: Program::preparations
  const Clock* clock = nullptr;  // times the parts of making it; outlives the Network. nullptr: they are not timed
};

// Returns those of many batch sizes that programs are made for: a smaller query goes through the next larger one, which is at most half as
// large again. Ascending; up to sixteen are all taken.
std::vector<int64_t> compiled_sizes(std::vector<int64_t> asked);

// One batch size: steps with their kernels chosen.
struct Program {
  int64_t batch = 0;
  bool samples_apart = false;  // each sample's outputs are of that sample alone: places that no query asked for may hold anything
  GpuPlan plan;
  std::vector<size_t> offsets;           // by buffer, of those in the arena
  std::vector<cuda::Address> constants;  // by buffer, of those that are constant; the host has their bytes no more
  size_t arena_bytes = 0;
  std::vector<Shape> inputs, outputs;
  // With inputs_ready, by input: the steps that were at the beginning of the plan and made of the input alone what it holds now. They read
  // the buffer before, each what the one before it wrote. Empty: the input is as the Graph has it.
  std::vector<std::vector<Step>> preparations;

  size_t input_bytes(size_t input) const;  // as queries bring it
};

class Network {
 public:
  // Throws Error{refused} for an operator without a kernel, Error{out_of_memory}.
  Network(const Graph& graph, const Chip& chip, const std::string& device, const NetworkOptions& options);

  // Returns the smallest program that takes `samples`; nullptr when there is none.
  const Program* program_for(int64_t samples) const;
  const std::map<int64_t, Program>& programs() const { return programs_; }
  Kernels& kernels() { return kernels_; }
  size_t arena_bytes() const;  // bytes for the largest program
  size_t weight_bytes() const { return weight_bytes_; }
  PrecisionShares precision_shares() const;
  // Returns the duration of each part of making it: "lower", "kernels" (compiling, or reading what was compiled before), "tune", "pack"
  // (weights in the order that kernels read them), "upload".
  const LoadParts& load_parts() const { return load_parts_; }

 private:
  template <typename Work>
  void part(const char* name, const Work& work);
  void lower(const Graph& graph);
  std::vector<const Launch*> launches() const;
  void split_off_preparations(Program& program) const;
  void choose_kernels(Tuner& tuner);
  using Chosen = std::vector<std::optional<ConvolutionVariant>>;  // by step
  // Makes one step of each chain that is known to be faster so.
  void join_known_chains(Program& program, Tuner& tuner);
  static const Tuner::MeasuredChain* measured(Tuner& tuner, const FoundChain& found, const Chosen& chosen);
  // Joins the other chains, too, by what the tuner measures; gives the remaining steps the kernels that were chosen for them.
  void settle_all(Program& program, Tuner& tuner, const Chosen& chosen);
  Step settled(Program& program, const FoundChain& found, const ChainVariant& variant);
  void settle(Program& program, Step& step, const ConvolutionVariant& variant);
  void plan_memory_of(Program& program) const;
  void place_constants();

  NetworkOptions options_;
  Chip chip_;
  Kernels kernels_;
  std::map<int64_t, Program> programs_;
  WeightPacker packer_;  // its orders are for programs_
  std::vector<cuda::DeviceMemory> constants_;
  size_t weight_bytes_ = 0;
  LoadParts load_parts_;
};

}  // namespace deepgap::gpu
