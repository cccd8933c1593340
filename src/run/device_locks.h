// DeviceLocks: who measures on which device of this machine, so that two runs do not meet on one, which would give both wrong figures.
//
// A GPU is locked by its uuid; the CPU by the CPUs that a run may use, so that two that were given others do not meet. Locks are the
// kernel's own (fcntl), on files in a folder that all users share: they end with the process that holds them, however it ends, and the
// kernel says whose they are. A file beside them names that process's command and Store. A process that does not see the folder (another
// container) is not seen. One object at a time in a process; main thread.
#pragma once

#include "base/file.h"

#include <deepgap/point.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace deepgap {

enum class WhenBusy {
  wait,    // until it is free
  refuse,  // Error{input}
  share    // measure all the same; Records say so
};

struct LockSettings {
  std::string folder;  // empty: nothing is locked
  WhenBusy when_busy = WhenBusy::wait;
  std::vector<int> cpus;                       // that a Point on the CPU may use
  std::function<std::string(int)> gpu_uuid{};  // returns the uuid of cuda:N; empty if unknown
};

// $DEEPGAP_LOCKS, which may be "off": empty then; else a folder below /tmp.
std::string lock_folder();

struct LockedDevice {
  std::string name;        // for people: "cpu", "cuda:0"
  std::string file;        // in the folder
  std::vector<int> units;  // CPUs; of a GPU the number 0
};
// Returns the devices of this machine: a server locks its own devices.
std::vector<LockedDevice> locked_devices(const std::set<DeviceId>& devices, const LockSettings& settings);

struct DeviceLockOwner {
  std::string device;  // "CPUs 0 to 15", "GPU-1c5f..."
  int64_t pid = 0;     // 0: in another container
  std::string command, store;
  int64_t since_unix_ns = 0;  // 0: not known, nor are command and Store
};
// "process 4711 since 2026-11-23 07:12 UTC: deepgap run resnet50, into /home/me/deepgap.db".
std::string owner_words(const DeviceLockOwner& owner);

class DeviceLocks {
 public:
  // Takes no lock yet. `store` is shown to other processes.
  DeviceLocks(std::string folder, std::vector<LockedDevice> devices, const std::string& store);
  ~DeviceLocks();
  DeviceLocks(const DeviceLocks&) = delete;
  DeviceLocks& operator=(const DeviceLocks&) = delete;

  // All of them or none: nullopt where they are ours now, else who has one of them. Throws Error{input} where the folder or a file in it
  // cannot be used.
  std::optional<DeviceLockOwner> take();
  // Takes the devices that are free; returns the names of the others.
  std::vector<std::string> take_what_is_free();

 private:
  std::optional<DeviceLockOwner> take_one(const LockedDevice& device);
  void release();
  void tell();

  std::string folder_, store_;
  std::vector<LockedDevice> devices_;
  std::map<std::string, FileDescriptor> files_;
  bool names_owner_ = false;
};

// Whoever else holds a device now; nobody where there is no such folder. Not by a process that holds one: looking would end its locks.
std::vector<DeviceLockOwner> device_lock_owners(const std::string& folder);

}  // namespace deepgap
