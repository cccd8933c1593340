// A device's trace as SVG text: layers, kernels, copies and the host's calls on one axis of time. Wide: a page lets it scroll. Pure.
#pragma once

#include "kernels/trace.h"

#include <string>

namespace deepgap {

// Returns an empty text if nothing ran. Kernels are coloured by family, in the order of `families`.
std::string timeline_svg(const Trace& trace, const std::vector<std::string>& families);

}  // namespace deepgap
