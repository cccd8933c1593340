// Convolutions and products of 8-bit integers by our own kernels, for CPUs whose own instructions saturate (integer_tile.h).
//
// A piece of work is a stretch of output pixels of one sample and group, times some panels of 16 output channels. Its thread first copies
// the inputs that it needs to scratch memory, as 16-bit integers without their zero point, with zeros for what pads: so padding costs
// nothing and the kernel reads a pixel's neighbours in a row as one run. Scratch stays in the second-level cache.
#pragma once

#include "engine/cpu/integer_epilogue.h"

#include <deepgap/tensor.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace deepgap {

// Source and result have their channels innermost. A product of matrices is a convolution of 1x1 over an image of its rows.
struct IntegerLayer {
  int64_t samples = 1, groups = 1;
  int64_t depth = 0, outputs = 0;                                                                               // channels of one group
  std::array<int64_t, 2> source{1, 1}, target{1, 1}, kernel{1, 1}, stride{1, 1}, dilation{1, 1}, before{0, 0};  // height, width
  DataType type = DataType::u8;                                                                                 // type of the source
  int32_t zero = 0;
  IntegerEpilogue epilogue;

  int64_t pixels() const { return target[0] * target[1]; }
  int64_t terms() const { return kernel[0] * kernel[1] * depth; }  // terms of a sum
  // Returns the largest absolute value of an input without its zero point.
  int64_t largest_input() const;
};

// Returns whether 32 bits hold `margin` times every sum that these weights [outputs][depth][height][width] can lead to.
bool sums_fit(const IntegerLayer& layer, const Tensor& weights, int64_t margin = 1);

// Cuts a layer into parts, in the same way for packing and running.
class IntegerDense {
 public:
  IntegerDense(IntegerLayer layer, int threads);

  // Returns the weights [outputs][depth][height][width] as the kernel reads them.
  Tensor pack(const Tensor& weights) const;
  std::string layout() const;  // names what pack() makes
  size_t scratch_bytes() const { return scratch_bytes_ * static_cast<size_t>(threads_); }
  void run(const std::byte* source, const std::byte* residual, const std::byte* weights, std::byte* scratch, std::byte* target) const;

 private:
  struct Piece;
  void cut();
  void fill_rows(const Piece& piece, const std::byte* source, int16_t* slab) const;
  void fill_pixels(const Piece& piece, const std::byte* source, int16_t* slab) const;
  void multiply(const Piece& piece, const int16_t* slab, const std::byte* residual, const int16_t* weights, int32_t* sums,
                std::byte* target) const;
  Piece piece_of(int64_t index) const;
  void cut_runs();

  IntegerLayer layer_;
  int threads_;
  bool by_pixel_;                        // 1x1 without padding: a slab holds pixels; else rows of the image
  int64_t runs_ = 1, run_ = 0;           // runs of inputs in a sum, and their length
  std::vector<int64_t> run_offsets_;     // in bytes
  int64_t pairs_ = 0;                    // pairs of inputs in a run
  int64_t block_ = 1;                    // runs whose weights are in the first-level cache together
  int64_t slab_width_ = 0;               // pixels
  int64_t stretch_ = 1, stretches_ = 1;  // pixels or rows of output in a piece, and how many of those an image has
  int64_t panels_ = 1, panels_in_piece_ = 1, panel_groups_ = 1;
  size_t sums_offset_ = 0;
  size_t scratch_bytes_ = 0;  // bytes per thread
};

// Computes to[i] = from[i] - zero, where `from` has `type`.
void widen(const std::byte* from, DataType type, int32_t zero, int64_t count, int16_t* to);

}  // namespace deepgap
