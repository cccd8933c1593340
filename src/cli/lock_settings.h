// How commands that measure lock devices (run/device_locks.h).
#pragma once

#include "run/device_locks.h"

#include <string>

namespace deepgap {

// For this process: the CPUs that it may use, and GPUs by the uuid that the driver tells a child of it, when one is asked for.
LockSettings lock_settings(WhenBusy when_busy = WhenBusy::wait);

// "wait", "refuse" or "share"; throws Error{usage}.
WhenBusy when_busy_from(const std::string& text);

}  // namespace deepgap
