// Settings that say nothing together, or say the same thing twice: a mistake rather than a wish.
#pragma once

#include "plan/study.h"

namespace deepgap {

// Looks at the grid's axes and its tenants' as a whole: what some of its Points use is no conflict. Throws Error{usage} naming the place of
// the axis.
void refuse_conflicts(const Grid& grid);

// Takes out of a Point what is for another engine ("openvino.hint" of a Point of native), and what is for quantizing where nothing is
// quantized: they change nothing there, and would make one Point two. Whether there was any.
bool leave_out_what_is_for_others(Point& point);

}  // namespace deepgap
