// The sentences that a run of several engines ends with. Pure.
#pragma once

#include "analysis/point_summary.h"

#include <span>
#include <string>
#include <vector>

namespace deepgap {

struct WinnerLine {
  std::string text;
  bool open = false;  // no significant difference was found
};

// Returns, for each workload that ran in more than one way, which way has the highest throughput and by how much the next is behind, or
// that no difference is significant: "resnet50: native is the fastest, 1.21 times (1.15 to 1.27) that of openvino". Engines are compared
// where there are several, each at its best.
std::vector<WinnerLine> winner_lines(std::span<const PointSummary> points);

}  // namespace deepgap
