// The parent's side of the inspection (worker/inspect.h): asks a limited child about every Point of a Plan.
#pragma once

#include "run/child_process.h"
#include "run/interrupts.h"
#include "worker/inspect.h"

#include <deepgap/point.h>
#include <deepgap/record.h>

#include <memory>
#include <string>
#include <vector>

namespace deepgap {

struct Inspected {
  std::vector<InspectedPoint> points;  // as asked
  Facts environment;
  bool interrupted = false;
  std::unique_ptr<ChildProcess> child;  // that looked at them, where it may_go_on() with each
};

// Throws PointError{usage | input} with one line for what is wrong in models, datasets, options or names, Error where a file takes more
// memory or time than the limits. A backend that takes the child down with it is not supported, with the reason; the others are asked
// again. So are all where the child was killed from outside, which is nobody's fault; Error{internal} where that goes on.
Inspected inspect_in_child(const std::vector<Point>& points, const std::string& cache_dir, Interrupts& interrupts);

}  // namespace deepgap
