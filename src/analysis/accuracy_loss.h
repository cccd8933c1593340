// What a Point's precision costs in accuracy: the top-1 accuracy of FP32 less its own, over the same samples. Pure.
#pragma once

#include "analysis/point_summary.h"

#include <vector>

namespace deepgap {

// Gives every Point that has "accuracy_top1" an "accuracy_loss" where `points` hold one of precision fp32 with the same model, weights,
// dataset, labels and count of samples. Of several the loss is against the mean: of those with the Point's backend and device, else with
// its backend, else of all. Below 0 where FP32 is less accurate. Without an interval: the samples are the same, so that the intervals of
// the two accuracies say nothing about their difference.
void add_accuracy_losses(std::vector<PointSummary>& points);

}  // namespace deepgap
