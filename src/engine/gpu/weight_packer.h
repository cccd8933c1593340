// Brings the constants of all programs into the order in which kernels read them, on all CPUs. Equal ones are kept once, whichever programs
// read them: a layer's weights are packed alike for most batch sizes. One thread uses it.
#pragma once

#include "engine/gpu/plan.h"

#include <cstddef>
#include <functional>
#include <vector>

namespace deepgap::gpu {

class WeightPacker {
 public:
  using Pack = std::function<std::vector<std::byte>()>;  // runs on another thread, beside others

  // Adds a constant to `plan` whose bytes pack() fills in. `plan` outlives that call.
  BufferId add(GpuPlan& plan, Pack pack);
  // Packs what was added since the last call. Throws what one of them threw.
  void pack();

 private:
  struct Order {
    GpuPlan* plan = nullptr;
    BufferId buffer = 0;
    Pack pack;
  };
  std::vector<Order> orders_;
};

}  // namespace deepgap::gpu
