// Lists the counters that show what a GPU did: a table by family of chips, whose names differ. chip_metrics.h lists what CUPTI has for a
// chip, for chips that the table does not know and to test the table.
#pragma once

#include "kernels/chip_metrics.h"

#include <string>
#include <vector>

namespace deepgap {

// Returns the groups that are counted together: one configuration of the hardware, which may take several passes over the work.
//   "bytes": DRAM and second-level cache, read and written, and how busy multiprocessors and their warps were
//   "l1": bytes that loads and stores of threads ask the first-level caches for, found there or not; shared memory and what is copied
//         into it past the caches are not in it
//   "lanes": additions, multiplications and both at once by threads, in FP32, FP16 (two at a time) and FP64
//   "tensor": operations of tensor cores by type, multiply and add as two; dense and sparse together. Those of 1 and 4 bits are left out
// Empty for an architecture (compute capability times ten) that the table does not know.
std::vector<MetricGroup> counter_groups(int architecture);

// Returns the groups that this chip has; GeForce 16 cards have architecture 75 but no tensor cores. For an architecture that the table does
// not know, metrics are found by name. Empty groups are left out.
std::vector<MetricGroup> counter_groups_of(int architecture, const std::vector<std::string>& available);

}  // namespace deepgap
