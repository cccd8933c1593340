// The options of a Point of task train: what its steps are, and what it is checked with.
#pragma once

#include "base/option_table.h"

#include <deepgap/backend.h>
#include <deepgap/point.h>
#include <deepgap/train.h>

#include <cstdint>

namespace deepgap {

const OptionTable<TrainSettings>& train_options();

// Steps that are checked, and how many samples each has: few, so that the FP32 reference on the CPU is made in reasonable time.
inline constexpr int64_t checked_steps = 3;
int64_t checked_batch(const Point& point, const TrainSettings& settings);

}  // namespace deepgap
