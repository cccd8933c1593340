// What a Verdict lets one do with a result. Pure functions; any thread.
#pragma once

#include <deepgap/record.h>

namespace deepgap {

// Nothing was seen that speaks against it: valid, or as_found, where nothing was asked that it could be held against.
constexpr bool is_sound(Verdict verdict) { return verdict == Verdict::valid || verdict == Verdict::as_found; }

}  // namespace deepgap
