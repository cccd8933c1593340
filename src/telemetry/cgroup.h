// The limits that control groups set on this process: version 1, version 2 and both at once (hybrid).
//
// A limit of any ancestor holds, so the smallest on the way to the root is taken. In a container, /proc/self/cgroup may name a path on the
// host that does not exist here; then the mount's own root is the container's group.
#pragma once

#include "telemetry/system_file.h"

#include <cstdint>
#include <optional>
#include <string>

namespace deepgap {

struct CgroupLimits {
  std::string version;                  // "1", "2", "1 and 2"; empty: none found
  std::optional<double> cpu_quota;      // CPUs worth of time; nullopt: no limit
  std::optional<int64_t> memory_bytes;  // nullopt: no limit
};
CgroupLimits read_cgroup_limits(const SystemRoot& root);

}  // namespace deepgap
