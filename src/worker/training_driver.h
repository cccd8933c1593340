// Training as a WorkloadDriver: steps one after the other, as the scenario `batch` issues them, and the losses that they had.
#pragma once

#include "worker/workload_driver.h"

#include <memory>

namespace deepgap {

// `steps` fills the windows.
std::unique_ptr<WorkloadDriver> make_training_driver(std::unique_ptr<WorkloadDriver> steps);

}  // namespace deepgap
