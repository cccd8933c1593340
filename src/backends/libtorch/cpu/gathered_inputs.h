// Gathers a query's samples in a slot of a Session on the CPU, whatever it computes from them.
#pragma once

#include "backends/common/slot_buffer.h"
#include "backends/common/staging.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

namespace deepgap {

// For each input at the largest batch.
std::vector<SlotBuffer> room_for(const std::vector<Port>& inputs, int64_t largest_batch);

// `samples` one behind another in a slot's room; the tensors look at that. Throws Error{input} where there are none, or more than
// `largest_batch`.
std::vector<at::Tensor> gathered(const Staging& staged, const std::vector<Port>& inputs, std::span<const uint32_t> samples,
                                 int64_t largest_batch, std::vector<SlotBuffer>& room);

}  // namespace deepgap
