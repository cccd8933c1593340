// The interval of a throughput at a GPU's power limit. Clocks swing there with a period of about a second (H200), so a window of two
// seconds holds two swings, from which nothing can be learned about the next two. The warm-up before it was at the limit too: so the window
// is one of several equal stretches, and how far their throughputs scatter is how far the window's may be off. This is the method of batch
// means with stretches longer than the swings (Schmeiser, Operations Research 30 (1982)). A drift of minutes is seen as far as it shows in
// them.
#pragma once

#include <deepgap/record.h>

#include <cstdint>
#include <optional>
#include <span>

namespace deepgap {

struct Stretches {
  double relative_half_width = 0;  // half the 95 % interval of the window's throughput, over that throughput
  int64_t count = 0;               // stretches in all, each this long:
  Nanoseconds length = 0;
};

// The Timings in any order. Stretches are 2 s long, or as long as a shorter window. Returns nullopt where a stretch has fewer than ten
// completions, the window is shorter than 1 s or longer than the time before it, or there are fewer than four stretches.
std::optional<Stretches> scatter_of_stretches(std::span<const Timing> before, std::span<const Timing> window);

// Gives the window's throughput the interval that its stretches leave.
void set_interval(const Stretches& stretches, Estimate& throughput);

}  // namespace deepgap
