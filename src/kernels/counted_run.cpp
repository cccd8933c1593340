#include "kernels/counted_run.h"

#include <cmath>

namespace deepgap {

bool KnownCount::is_right() const { return counted >= 0 && std::abs(counted - expected) <= tolerance * expected; }

}  // namespace deepgap
