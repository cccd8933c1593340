// Training as a Drive: steps one after the other, as the scenario `batch` issues them, and the losses that they had.
#pragma once

#include "worker/drive.h"

#include <memory>

namespace deepgap {

// `steps` fills the windows.
std::unique_ptr<Drive> make_train_drive(std::unique_ptr<Drive> steps);

}  // namespace deepgap
