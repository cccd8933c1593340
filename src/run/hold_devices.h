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
  std::unique_ptr<DeviceLocks> locks;  // held as long as this lives; nullptr: nothing to lock, or locking failed, as `out` says
  std::vector<std::string> shared;     // devices that another run has too
  bool interrupted = false;            // while waiting
};

// Reports on `out` what it waits for. Throws Error{input} if a device is busy and should be refused. `host` gives time and interrupts.
HeldDevices hold_devices(const std::set<DeviceId>& devices, const LockSettings& settings, const std::string& store, WorkerHost& host,
                         std::FILE* out);

}  // namespace deepgap
