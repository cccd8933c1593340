#include "backends/common/host.h"

#include "base/text.h"

#include <sys/sysinfo.h>

#include <fstream>

namespace deepgap {

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return trim(line.substr(line.find(':') + 1));
  }
  return "CPU";
}

int64_t host_memory_bytes() {
  struct sysinfo info {};
  return ::sysinfo(&info) == 0 ? static_cast<int64_t>(info.totalram) * info.mem_unit : -1;
}

}  // namespace deepgap
