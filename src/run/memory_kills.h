// Counts how often the kernel has killed a process for want of memory: distinguishes such a SIGKILL from one that somebody sent.
#pragma once

#include <cstdint>
#include <string>

namespace deepgap {

struct MemoryKills {
  int64_t count = -1;  // -1: not known
  std::string source;  // where it was read: "the cgroup's memory.events", "/proc/vmstat"
};
// Counts in our cgroup if it has a counter (v2, v1), else on the whole machine.
MemoryKills memory_kills(const std::string& root = "/");

}  // namespace deepgap
