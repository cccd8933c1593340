// How often the kernel has killed a process for want of memory, so that a SIGKILL can be told from one that somebody sent.
#pragma once

#include <cstdint>
#include <string>

namespace deepgap {

struct MemoryKills {
  int64_t count = -1;  // -1: not known
  std::string source;  // where it was read: "the cgroup's memory.events", "/proc/vmstat"
};
// Of our cgroup where that tells (v2, v1), else of the whole machine.
MemoryKills memory_kills(const std::string& root = "/");

}  // namespace deepgap
