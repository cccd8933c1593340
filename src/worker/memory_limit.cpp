#include "worker/memory_limit.h"

#include "base/text.h"
#include "telemetry/cgroup.h"

#include <sys/resource.h>

#include <algorithm>

namespace deepgap {

std::optional<uint64_t> memory_for_worker(const SystemRoot& root) {
  const auto kib = parse_int(split(value_of_key(root.text("/proc/meminfo"), "MemAvailable"), ' ')[0]);
  const auto of_group = read_cgroup_limits(root).memory_bytes;
  if (!kib || *kib <= 0) return std::nullopt;
  const int64_t available = std::min(*kib * 1024, of_group.value_or(INT64_MAX));
  return static_cast<uint64_t>(available) / 10 * 9;
}

void limit_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const auto bytes = memory_for_worker(SystemRoot("/"));
  rlimit limit{};
  if (!bytes || ::getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur <= *bytes) return;
  limit.rlim_cur = *bytes;
  [[maybe_unused]] const int failed = ::setrlimit(RLIMIT_DATA, &limit);  // then there is none, as before
#endif
}

}  // namespace deepgap
