// The tables about what was recorded, rather than made by formula, and about several queries in flight.
#pragma once

namespace deepgap {

void print_recorded(int series);
void print_power_windows(int series);
void print_rounds(int series);

}  // namespace deepgap
