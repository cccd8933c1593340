// The options of a Point of task train: what its steps are, and what it is checked with.
#pragma once

#include "base/option_table.h"

#include <deepgap/backend.h>
#include <deepgap/point.h>
#include <deepgap/train.h>

#include <cstdint>
#include <string>
#include <vector>

namespace deepgap {

bool trains(const Point& point);

const OptionTable<TrainSettings>& train_options();

// Throws Error{usage} if the Point trains by another scenario than batch, or on devices that its processes cannot share out.
void require_training(const Point& point);

// Samples that steps cycle where nobody said how many: four batches, of at most 256 samples where one batch is not more.
int64_t train_samples(const Point& point);

// Steps that are checked, and how many samples each has: few, so that the FP32 reference on the CPU is made in reasonable time.
inline constexpr int64_t checked_steps = 3;
int64_t checked_batch(const Point& point, const TrainSettings& settings);
std::vector<int64_t> train_batch_sizes(const Point& point, const TrainSettings& settings);  // ascending: that one, and the Point's

}  // namespace deepgap
