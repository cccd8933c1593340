// How a window stands to the power limit of the GPUs that worked in it: within a second or two of heavy load a GPU comes to its limit, and
// a window before that shows more than the card sustains.
#pragma once

#include "worker/power_asked.h"

#include <deepgap/record.h>

#include <span>
#include <string>

namespace deepgap {

inline constexpr const char* power_state_fact = "power_state";  // a Record's: the word below

struct PowerState {
  // "sustained": at the limit in most readings; "burst": it came to the limit within the window, and clocks fell; empty: neither.
  std::string word;
  double clock_fall = 0;  // in a burst, from the highest before to the mean of the window's second half: 0.18 is 18 %
};
// `series`: the probes' readings. Of several GPUs one that came to its limit within the window decides, then one at its limit.
PowerState power_state(std::span<const Series> series, const Window& window);

// Notes the state of a finished Record's window, and where it is not the one that was asked for. One that came to its limit within a window
// that was to be sustained makes that `unstable`. A burst has its state already, from its own readings.
void note_power_state(PowerAsked asked, Record& record);

}  // namespace deepgap
