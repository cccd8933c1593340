// Judges a finished window: whether its final interval is as narrow as was asked, and whether it stayed what it was (stats/stationarity.h).
// It is judged at the end and over all of it, so that nothing that came after a good moment is forgotten.
#pragma once

#include "scenario/stopping.h"
#include "scenario/stopping/throughput_meter.h"

#include <optional>
#include <string>

namespace deepgap {

// Shorter windows see nothing that lasts for seconds, as most disturbances do: their results are as found at best.
inline constexpr Nanoseconds shortest_valid_window = 2'000'000'000;

struct WindowWidth {
  std::string target;                 // "throughput", "p99"
  double found = 0;                   // relative half-width; infinity where there is no interval
  std::optional<double> asked;        // nullopt: nothing was
  std::optional<Nanoseconds> budget;  // that ended it
  bool of_a_repeat = false;           // what was asked is of one of several repeats, of which together more is asked
};

WindowVerdict window_verdict(const ThroughputMeter& meter, const WindowWidth& width);

// "throughput CI ±3.1 %", "throughput too noisy: ±680 %"; where a width was asked for, with the digits that show which is larger.
std::string width_text(const std::string& target, double found, const std::optional<double>& asked);
// "target ±1 %", "target ±1.5 % for each repeat"
std::string asked_text(double asked, bool of_a_repeat);

}  // namespace deepgap
