// Samples that lie one behind another in memory, as a client has them who sends a whole batch: an engine on the CPU can then read a batch
// where it is, and no copy of it is measured.
#pragma once

#include <deepgap/tensor.h>

#include <cstdint>
#include <span>
#include <vector>

namespace deepgap {

// Copies of `samples`, in their order, and after the last from the first on again: any `batch` neighbours of the cycle are adjacent in
// every input. Empty where samples differ in shape, and where they would take more than 1 GiB.
class AdjacentSamples {
 public:
  AdjacentSamples() = default;
  AdjacentSamples(std::span<const std::vector<TensorView>> samples, int64_t batch);

  // samples.size() + batch - 1 of them; number i is sample i modulo samples.size(). Valid as long as this object.
  std::span<const std::vector<TensorView>> views() const { return views_; }

 private:
  std::vector<Tensor> blocks_;  // per input
  std::vector<Shape> shapes_;   // shape of one sample, per input
  std::vector<std::vector<TensorView>> views_;
};

// Replaces positions, where possible, by the one behind the position before it that stands for the same sample: 3, 0, 1 of a cycle of 4
// becomes 3, 4, 5. `positions` are below `cycle`; `staged` are there in all.
void follow_neighbours(std::span<uint32_t> positions, size_t cycle, size_t staged);

}  // namespace deepgap
