// The steps of a training by several processes, which all make the same number of them: a rank that made another one would wait for the
// others forever. After the warm-up the ranks exchange how long a step took, and the slowest one's decides how many fill the duration that
// was asked for.
#pragma once

#include "worker/workload_driver.h"

#include <functional>
#include <memory>

namespace deepgap {

// Returns the number of steps of `step_s` seconds that fill `seconds`, at least 2.
int64_t steps_in(double seconds, double step_s);

// `make_steps` returns the WorkloadDriver whose windows end by these settings. `stopping` asks for a duration.
std::unique_ptr<WorkloadDriver> make_equal_steps(std::function<std::unique_ptr<WorkloadDriver>(const StoppingSettings&)> make_steps,
                                                 StoppingSettings stopping);

}  // namespace deepgap
