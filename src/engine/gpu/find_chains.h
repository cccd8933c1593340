// Chains (chain.h) among the steps of a plan: convolutions and products of which one reads what another makes, pixel by pixel.
#pragma once

#include "engine/gpu/chain.h"
#include "engine/gpu/plan.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace deepgap::gpu {

struct FoundChain {
  Chain chain;
  std::vector<size_t> steps;  // steps of the plan, by Chain::problems()
  size_t place = 0;           // the step before which the chain can stand instead
};

class ChainFinder {
 public:
  // `plan` outlives it, and keeps its steps.
  ChainFinder(const GpuPlan& plan, const Chip& chip);
  // Returns the chains that the chip has kernels for. A step may be in several.
  std::vector<FoundChain> candidates() const;
  // Sets where the chain stands beside those that were taken before; false: one of its steps is in one of them, or it has no place.
  bool take(FoundChain& found);

 private:
  const Step& step(size_t i) const { return plan_.steps[i]; }
  BufferId target_of(size_t i) const;
  std::optional<size_t> next_of(size_t i) const;
  std::optional<size_t> branch_of(size_t wide) const;
  bool is_stored(size_t i, const std::vector<size_t>& steps) const;
  int64_t begin_of(size_t i) const;
  int64_t end_of(size_t i) const;
  bool set_place(FoundChain& found) const;
  std::optional<FoundChain> chain_of(const std::vector<size_t>& steps) const;

  const GpuPlan& plan_;
  Chip chip_;
  std::vector<std::vector<size_t>> readers_;   // by buffer
  std::vector<std::optional<size_t>> writer_;  // by buffer
  std::map<size_t, int64_t> moved_;            // steps that are in a chain, and its place
};

// Returns the step that stands for a chain, without its launch; its buffers are ordered by ChainRole.
Step joined_step(const GpuPlan& plan, const FoundChain& found);

}  // namespace deepgap::gpu
