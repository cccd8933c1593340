// From sums of integer products to what a layer writes: scale, bias, what is fused after it, and rounding to the result's integers.
#pragma once

#include "engine/cpu/integer_tile.h"
#include "engine/passes/fused.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace deepgap {

// One operation after the other on 16 channels of a pixel, in float32 as the reference does them.
class IntegerEpilogue {
 public:
  struct Stage {
    enum class Kind { activation, round, multiply, add, residual } kind = Kind::activation;
    Activation activation;
    // round: to the nearest multiple of `step` between `lowest` and `highest` steps
    float step = 1, steps_per_unit = 1, lowest = 0, highest = 0;
    std::vector<float> channels;  // multiply, add
    // residual: (integer - zero) * step, or float32
    DataType residual = DataType::f32;
    float zero = 0;
  };
  std::vector<float> scale, bias;  // per channel
  std::vector<Stage> stages;
  DataType result = DataType::f32;  // u8, i8 or f32
  float quanta_per_unit = 1;        // one over the result's scale
  int32_t result_zero = 0;
  int64_t channels = 0;  // channels of a pixel in result and residual

  // Call it once all is set: it makes the vectors long enough for the kernel to read a whole tile anywhere, and sees whether the quick way
  // does it.
  void finish();
  int64_t bytes_by_channel() const;  // bytes read and written for a channel of a pixel
  // Writes `sums` [rows][integer_tile_columns] of the channels [first, first + count); pixels[r] is the pixel of row r.
  void write(const int32_t* sums, const int64_t* pixels, int64_t rows, int64_t first, int64_t count, const std::byte* residual,
             std::byte* target) const;

 private:
  // The form of most layers: rounded or not, a residual of integers or none, bounds, and integers as the result. Numbers are in quanta of
  // the result, or at first in steps of the rounding.
  struct Quick {
    bool rounds = false, adds = false;
    DataType residual = DataType::u8;
    std::vector<float> scale, bias;
    float lowest_step = 0, highest_step = 0, quanta_per_step = 1, residual_quanta = 0, shift = 0;
    float lowest = 0, highest = 0;
  };
  std::optional<Quick> quick_form() const;
  template <bool rounds, int residual_kind>
  void write_quick(const int32_t* sums, const int64_t* pixels, int64_t rows, int64_t first, const std::byte* residual,
                   std::byte* target) const;
  void write_whole(const int32_t* sums, const int64_t* pixels, int64_t rows, int64_t first, const std::byte* residual,
                   std::byte* target) const;
  std::optional<Quick> quick_;
};

}  // namespace deepgap
