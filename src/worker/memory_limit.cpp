#include "worker/memory_limit.h"

#include "base/text.h"
#include "telemetry/cgroup.h"

#include <fmt/format.h>
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

double sample_bytes(const std::vector<TensorInfo>& inputs) {
  double bytes = 0;
  for (const TensorInfo& input : inputs) {
    double of_input = static_cast<double>(byte_size(input.type));
    if (input.dims) {
      for (const Dim& dim : *input.dims) of_input *= static_cast<double>(std::max<int64_t>(dim.size, 1));
    }
    bytes += of_input;
  }
  return bytes;
}

std::string lack_of_memory(const std::vector<TensorInfo>& inputs, size_t samples, int64_t batch, std::optional<uint64_t> available) {
  const double one = sample_bytes(inputs), needed = one * (static_cast<double>(samples) + static_cast<double>(std::max<int64_t>(batch, 1)));
  if (!available || needed <= static_cast<double>(*available)) return "";
  return fmt::format(
      "memory does not suffice: {} sample{} of {} and a batch of {} need {}, {} can be had; give smaller sizes with --shape, a "
      "smaller batch or fewer samples",
      samples, samples == 1 ? "" : "s", format_bytes(one), batch, format_bytes(needed), format_bytes(static_cast<double>(*available)));
}

}  // namespace deepgap
