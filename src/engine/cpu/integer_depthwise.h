// Convolutions of 8-bit integers whose channels are each computed from one channel alone, for CPUs whose own products of bytes saturate.
//
// There is no sum over channels, so that products of two neighbours in one instruction (integer_tile.h) do not help: inputs are copied to
// float32 in scratch memory, 16 channels of some rows at a time, and multiplied as such. The sums are exact, because they are integers
// below 2^24.
#pragma once

#include "engine/cpu/integer_dense.h"

namespace deepgap {

class IntegerDepthwise {
 public:
  static bool can(const IntegerLayer& layer, const Tensor& weights);
  IntegerDepthwise(IntegerLayer layer, int threads);

  Tensor pack(const Tensor& weights) const;
  std::string layout() const { return "floats by channel"; }
  size_t scratch_bytes() const { return scratch_bytes_ * static_cast<size_t>(threads_); }
  void run(const std::byte* source, const std::byte* residual, const std::byte* weights, std::byte* scratch, std::byte* target) const;

 private:
  void fill(int64_t sample, int64_t channel, int64_t first, int64_t last, const std::byte* source, float* slab) const;
  void multiply(int64_t sample, int64_t block, int64_t first, int64_t last, const float* slab, const std::byte* residual,
                const float* weights, std::byte* target) const;

  IntegerLayer layer_;
  int threads_;
  int64_t blocks_, slab_width_, stretch_, stretches_;  // blocks: of 16 channels; slab: pixels; stretch: output rows
  std::vector<int64_t> offsets_;                       // offset of each tap, in floats
  size_t scratch_bytes_;
};

}  // namespace deepgap
