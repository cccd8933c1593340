// Reports what LibTorch's allocator holds of a GPU, and changes settings that are the process's.
#pragma once

#include <deepgap/session.h>

#include <c10/core/Device.h>

#include <cstdint>

namespace deepgap {

// Returns what the allocator took, and what samples took beside it. `held_by_graphs`: memory_held_by_graphs() after the capture.
MemoryUse cuda_memory_use(c10::Device device, int64_t samples_bytes, int64_t held_by_graphs);
// A captured graph keeps the memory that it works in, in a pool of its own; the allocator counts it as reserved, and none of it as
// allocated. What is free in other segments belongs to no graph: samples that are staged later take it. Empties the allocator's cache.
int64_t memory_held_by_graphs(c10::Device device);
void give_back_cuda_memory();  // what a session that ended leaves behind

// Sets a property of the process, so each session sets it again before it launches.
void allow_tf32(bool allowed);

}  // namespace deepgap
