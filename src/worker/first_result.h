// The first query of a loaded Session: it warms what is made once, and its outputs are what is checked.
#pragma once

#include <deepgap/clock.h>
#include <deepgap/target.h>

#include <atomic>
#include <cstdint>
#include <span>

namespace deepgap {

// Milliseconds of one query of `batch` samples, `samples` cycled, alone on the Target; cancelled when `interrupted`. Throws the engine's
// reason when it failed.
double first_result_ms(Target& target, Clock& clock, std::span<const uint32_t> samples, int64_t batch,
                       const std::atomic<bool>& interrupted);

}  // namespace deepgap
