// Convolutions of 3x3 with stride 1 in fewer products, exactly: Winograd's F(2x2, 3x3) and F(4x4, 3x3) on integers.
//
// Problem: an output tile of 4x4 pixels takes 144 products for each pair of channels. Idea (Winograd 1980; Lavin and Gray, "Fast Algorithms
// for Convolutional Neural Networks", 2015): tile, kernel and result are seen through linear maps under which 36 products do, or 16 in
// place of 36 for a tile of 2x2. In floating point that costs precision. Here it costs none: the maps of inputs and kernels are scaled to
// integers that fit into 16 bits for inputs of 8 (25,500 at most, and 6,272), products are summed modulo 2^32, and what the map back has
// to be divided by is 4, or 576 = 64 * 9. Modulo 2^32 a multiplication by 954437177 divides by 9, and a shift does the rest, provided the
// true sum has 6 bits less than 32 (sums_fit). Sums in between may overflow as they like.
// Cost: weights are four times as large as the kernel's, so that small images of many channels are left to the other ways (choose).
#pragma once

#include "engine/cpu/integer_dense.h"

namespace deepgap {

class IntegerWinograd {
 public:
  // Returns the size of tile that is estimated to be fastest, 2 or 4; 0: the layer is better or only computed directly.
  static int64_t choose(const IntegerLayer& layer, const Tensor& weights, int threads);

  IntegerWinograd(IntegerLayer layer, int64_t tile, int threads);

  Tensor pack(const Tensor& weights) const;
  std::string layout() const;
  size_t scratch_bytes() const { return scratch_bytes_ * static_cast<size_t>(threads_); }
  void run(const std::byte* source, const std::byte* residual, const std::byte* weights, std::byte* scratch, std::byte* target) const;

 private:
  int64_t side() const { return tile_ + 2; }
  int64_t positions() const { return side() * side(); }
  int64_t pairs() const { return (layer_.depth + 1) / 2; }
  int64_t line() const { return (pairs() * 2 + 15) / 16 * 16; }  // channels of one position of a tile, in scratch
  void transform_inputs(int64_t first, int64_t last, const std::byte* source, int16_t* inputs) const;
  void multiply(int64_t first, int64_t last, int64_t panel, const int16_t* inputs, const int16_t* weights, int32_t* products) const;
  void write(int64_t first, int64_t last, int64_t panel, const int32_t* products, const std::byte* residual, std::byte* target) const;

  IntegerLayer layer_;
  int64_t tile_;
  int threads_;
  int64_t down_, across_, tiles_;  // tiles of an image in either direction; tiles of all samples
  int64_t stretch_, stretches_, panels_, panels_in_piece_, panel_groups_;
  size_t inputs_offset_, products_offset_, scratch_bytes_;
};

}  // namespace deepgap
