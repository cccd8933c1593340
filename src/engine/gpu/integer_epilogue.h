// Makes an integer from sums if nothing lies between but a rounding to another integer, an addition and a clamp: values are scaled to 0 ..
// 1, so that a multiply-add saturates for nothing, and become whole numbers by the multiply-add that rounds. All families use the same
// arithmetic, so that a result does not depend on which of them computed it.
#pragma once

#include "engine/gpu/convolution.h"

#include <optional>
#include <string>

namespace deepgap::gpu {

struct IntegerEpilogue {
  std::optional<EpilogueStep> round;  // rounding of the sums, before all else
  bool adds = false;                  // adds the residual
  int low = 0, high = 0;              // bounds of the stored integers
};

// Returns nullopt if the target is not an integer, or if other steps are asked for.
std::optional<IntegerEpilogue> integer_epilogue(const Epilogue& epilogue);

// Device functions table_scale, table_bias, end_value, put_values and stored_number of kernel_text.h's epilogue_text, for such an end;
// residual_of gives the stored number.
std::string integer_epilogue_text(const Epilogue& epilogue, const IntegerEpilogue& end);

}  // namespace deepgap::gpu
