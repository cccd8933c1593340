// Shared by the kernels for a network's first convolution (stem.cpp, pooled_stem.cpp): they take few channels, stored as four.
#pragma once

#include "engine/gpu/convolution.h"
#include "engine/gpu/hopper_text.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/tile_epilogue.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace deepgap::gpu {

inline constexpr int64_t stem_channels = 4;  // channels of a pixel in shared memory

// Returns how many columns of products hold the output channels; 0: there is no such number.
int stem_columns(const Convolution& problem);
// Returns whether the chip has these kernels and the shape suits them, whatever stands in Convolution::pool.
bool is_stem(const Convolution& problem, const Chip& chip);
// Returns whether it makes of the larger of two sums, scaled by numbers that are not negative, never the smaller result.
bool keeps_order(const Epilogue& epilogue);
// Returns how many pixels one copy of at most 16 bytes brings to shared memory.
int copied_pixels(const Convolution& problem);

// How a tile is cut and where its parts lie in shared memory.
struct StemPlan {
  int rows, teams, blocks;  // rows of a tile; warpgroups; blocks on one multiprocessor
  int columns;
  int pixel_bytes, run_steps, steps;  // run_steps: of 32 bytes, for one row of the kernel
  int shift;                          // pixels before the kernel's first one with which a run begins, so that it is aligned
  int piece;                          // pixels that one copy brings
  int origin;                         // pixels of the padding that lie before the image
  int row_bytes, source_rows;
  size_t source_bytes, weight_bytes, shared_bytes;
};
// `run_pixels`: what a run covers; `source_rows`: rows of the image that a tile needs; `tables`: copies of scale and bias.
StemPlan stem_plan(const Convolution& problem, int rows, int teams, int blocks, int64_t run_pixels, int shift, int64_t source_rows,
                   int tables);

// Returns the kernel `file` with the constants of the plan, and with `constants`, which it alone has.
std::string stem_text(const Convolution& problem, const StemPlan& plan, const std::string& constants, const char* file);

// Packs by step of 32 bytes (row of the kernel, part of its run), column, byte; `place` returns where in the run a step's byte lies.
template <typename Place>
std::vector<std::byte> pack_stem(const Convolution& problem, const StemPlan& plan, const Tensor& weights, const Place& place) {
  const WeightReader reader(problem, weights);
  const int run = run_of(problem, plan.columns);
  const auto size = static_cast<int>(operand_bytes(problem.compute));
  std::vector<std::byte> packed(plan.weight_bytes);
  for (int step = 0; step < plan.steps; step++)
    for (int column = 0; column < plan.columns; column++)
      for (int byte = 0; byte < 32; byte += size) {
        const int at = place(step, byte);
        const int64_t out = channel_of_column(column, run), x = at / plan.pixel_bytes - plan.shift, in = at % plan.pixel_bytes / size;
        if (out >= problem.out_channels || x < 0 || x >= problem.kernel_w || in >= problem.in_channels) continue;
        const size_t offset =
            static_cast<size_t>(step * plan.columns) * 32 + permuted(static_cast<size_t>(column) * 32 + static_cast<size_t>(byte), 32);
        put_operand(packed, offset / static_cast<size_t>(size), problem.compute, reader.at(out, in, step / plan.run_steps, x));
      }
  return packed;
}

// The kernel `entry` over so many tiles, without what packs its weights.
ConvolutionVariant stem_variant(const Convolution& problem, const StemPlan& plan, const Chip& chip, int64_t tiles, const char* entry,
                                std::string source);

}  // namespace deepgap::gpu
