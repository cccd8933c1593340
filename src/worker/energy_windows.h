// The idle window, which every figure of energy needs for comparison.
#pragma once

#include "telemetry/probe.h"

#include <deepgap/record.h>

#include <vector>

namespace deepgap {

bool reads_energy(const Telemetry& telemetry);  // by counter or as power
// Returns the length of the idle window: short, but if energy is read half of the shortest measured window, within 1 to 5 s.
Nanoseconds idle_length(const StoppingSettings& stopping, bool energy_is_read);

// Later Records of a process take the idle window of the first one: puts its readings of energy and power before their own.
void prepend_idle_readings(const Telemetry& telemetry, const Window& idle, std::vector<Series>& series);

}  // namespace deepgap
