// The reading child: `deepgap __read`. It looks at files that nobody vouches for before any other process of a command reads them, confined
// (base/confine.h) and without plug-ins. What it gets through unharmed is read again where it is used; what harms a reader harms this one,
// which can neither write, nor reach a network, nor start anything.
#pragma once

#include "base/confine.h"
#include "worker/sample_outputs.h"

#include <deepgap/point.h>

namespace deepgap {

inline constexpr const char* reading_command = "__read";

// Memory and time are left out: they depend on the files, and the parent sets them.
Confinement reader_confinement();

// Returns whether anything of it comes out of files.
bool reads_files(const Point& point);
bool reads_files(const OutputsRequest& request);

// Reads the model and the samples that the request names, and keeps nothing. Throws what is wrong with them, as compute_outputs does.
void look_at_inputs(const OutputsRequest& request);

}  // namespace deepgap
