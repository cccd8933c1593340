// Gathers a query's samples in a slot of a Session on the CPU, whatever it computes from them.
#pragma once

#include "backends/common/slot_buffer.h"
#include "backends/common/staging.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

namespace deepgap {

// `samples` one behind another in `room`, which has as much as the largest batch needs; the tensors look at that.
std::vector<at::Tensor> gathered(const Staging& staged, const std::vector<Port>& inputs, std::span<const uint32_t> samples,
                                 std::vector<SlotBuffer>& room);

}  // namespace deepgap
