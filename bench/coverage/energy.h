// Energy without a GPU: a device whose power is made by formula, its counter that moves in steps, and readings of both.
#pragma once

namespace deepgap {

void print_energy(int series);

}  // namespace deepgap
