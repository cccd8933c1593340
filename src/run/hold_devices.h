// Gets the devices of a run for it alone, as LockSettings say. Main thread.
#pragma once

#include "run/device_locks.h"
#include "run/worker_link.h"

#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace deepgap {

struct HeldDevices {
  std::unique_ptr<DeviceLocks> locks;  // held as long as this lives; nullptr: there was nothing to lock, or no way to, which `out` was told
  std::vector<std::string> shared;     // devices that another run has too
  bool interrupted = false;            // while waiting
};

// Says on `out` for whom it waits. Throws Error{input} where a device is busy and that is to be refused. `host` tells time and interrupts.
HeldDevices hold_devices(const std::set<DeviceId>& devices, const LockSettings& settings, const std::string& store, WorkerHost& host,
                         std::FILE* out);

}  // namespace deepgap
