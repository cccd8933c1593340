#include "worker/process_facts.h"

#include "base/file.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <fcntl.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <vector>

namespace deepgap {

void reset_host_memory_peak() {
  const FileDescriptor file(::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC));
  if (file.valid() && ::write(file.get(), "5", 1) != 1) return;
}

std::optional<int64_t> host_memory_peak_bytes() {
  try {
    for (const std::string& line : split(read_text("/proc/self/status"), '\n')) {
      if (!line.starts_with("VmHWM:")) continue;
      const auto kib = parse_int(trim(std::string_view(line).substr(6, line.find("kB") - 6)));
      if (kib) return *kib * 1024;
    }
  } catch (const Error&) {
  }
  return std::nullopt;
}

double process_cpu_seconds() {
  timespec used{};
  return ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0 ? static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9
                                                               : 0;
}

std::string affinity_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return "not available: the kernel did not report it";
  std::vector<std::string> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(std::to_string(cpu));
  }
  return join(cpus, ",");
}

}  // namespace deepgap
