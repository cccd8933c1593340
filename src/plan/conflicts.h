// Settings that say nothing together, or say the same thing twice: a mistake rather than a wish.
#pragma once

#include "plan/study.h"

namespace deepgap {

// Looks at the grid's axes and its tenants' as a whole: what some of its Points use is no conflict. Throws Error{usage} naming the place of
// the axis.
void refuse_conflicts(const Grid& grid);

}  // namespace deepgap
