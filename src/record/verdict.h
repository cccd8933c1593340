// The uses that a Verdict allows for a result. Pure functions; any thread.
#pragma once

#include <deepgap/record.h>

#include <array>

namespace deepgap {

// Nothing was seen that speaks against it: valid, or as_found, where nothing was asked that it could be held against.
constexpr bool is_sound(Verdict verdict) { return verdict == Verdict::valid || verdict == Verdict::as_found; }

// The fact (true) of an `unstable` Record whose window was steady: its own interval is wider than asked, and nothing else speaks against
// it.
inline constexpr const char* wide_interval_fact = "wide_interval";

// The fact (a sentence) of a Record whose latencies fall into two groups (stats/modes.h). It stands beside the verdict.
inline constexpr const char* latency_modes_fact = "latency.modes";

// The fact (a sentence) of a Record whose file has sizes of 0, which were read as open.
inline constexpr const char* zero_sizes_fact = "model.zero_sizes";

// The fact (a sentence) of a Record whose window began before a GPU came to its power limit: it shows more than the GPU sustains.
inline constexpr const char* burst_fact = "power_state.burst";

// The fact (a sentence) of a Record that was to be measured at a GPU's power limit, or before it came there, where it never did.
inline constexpr const char* power_asked_fact = "power_state.asked";

// The facts that are shown beside every verdict.
inline constexpr std::array<const char*, 4> noted_facts{latency_modes_fact, zero_sizes_fact, burst_fact, power_asked_fact};

}  // namespace deepgap
