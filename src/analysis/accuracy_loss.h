// The accuracy that a Point's precision costs: the top-1 accuracy of FP32 less its own, over the same samples. Pure.
#pragma once

#include "analysis/point_summary.h"

#include <vector>

namespace deepgap {

// Gives every Point that has "accuracy_top1" an "accuracy_loss" where `points` hold one of precision fp32 with the same model, weights,
// dataset, labels and count of samples. If there are several, the loss is against the mean: of those with the Point's backend and device,
// else with its backend, else of all. It is below 0 where FP32 is less accurate. It has no interval: the samples are the same, so that the
// intervals of the two accuracies say nothing about their difference.
void add_accuracy_losses(std::vector<PointSummary>& points);

}  // namespace deepgap
