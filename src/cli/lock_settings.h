// Settings with which commands that measure lock devices (run/device_locks.h).
#pragma once

#include "run/device_locks.h"

#include <string>

namespace deepgap {

// Returns the settings for this process: the CPUs that it may use, and GPUs by uuid, which a child asks the driver for when it is needed.
LockSettings lock_settings(WhenBusy when_busy = WhenBusy::wait);

// "wait", "refuse" or "share"; throws Error{usage}.
WhenBusy when_busy_from(const std::string& text);

}  // namespace deepgap
