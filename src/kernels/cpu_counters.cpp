#include "kernels/cpu_counters.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace deepgap {
namespace {

struct CounterName {
  const char* name;
  int type;
  unsigned long long config;
};

constexpr unsigned long long cache_misses(unsigned long long cache) {
  return cache | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16;
}

constexpr std::array<CounterName, 6> names{{{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
                                            {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
                                            {"last_cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
                                            {"first_cache_misses", PERF_TYPE_HW_CACHE, cache_misses(PERF_COUNT_HW_CACHE_L1D)},
                                            {"page_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
                                            {"context_switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES}}};

int open_counter(int type, unsigned long long config, int thread) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = static_cast<unsigned>(type);
  attributes.config = config;
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  const long descriptor = ::syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
  return descriptor < 0 ? -errno : static_cast<int>(descriptor);
}

double read_counter(int descriptor) {
  struct {
    unsigned long long value, enabled, running;
  } read{};
  if (::read(descriptor, &read, sizeof read) != sizeof read) return -1;
  if (read.running == 0) return read.enabled == 0 ? static_cast<double>(read.value) : -1;
  return static_cast<double>(read.value) * static_cast<double>(read.enabled) / static_cast<double>(read.running);
}

std::vector<int> own_threads() {
  std::vector<int> threads;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error))
    threads.push_back(std::atoi(entry.path().filename().c_str()));
  return threads;
}

std::string why(int error) {
  switch (error) {
    case EACCES:
    case EPERM: {
      std::ifstream file("/proc/sys/kernel/perf_event_paranoid");
      std::string level = "not readable";
      file >> level;
      return fmt::format(
          "the kernel does not allow it (perf_event_paranoid is {}): sudo sysctl kernel.perf_event_paranoid=1, or the container's "
          "rights",
          level);
    }
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
      return "this CPU, or the virtual machine's, does not offer it";
    case ENOSYS:
      return "this kernel has no perf_event";
    default:
      return std::strerror(error);
  }
}

}  // namespace

CounterTable perf_event_table() {
  return {open_counter, [](int descriptor, bool on) { ::ioctl(descriptor, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0); },
          read_counter, [](int descriptor) { ::close(descriptor); }, own_threads};
}

CpuCounters::CpuCounters(CounterTable table) : table_(std::move(table)) {}
CpuCounters::~CpuCounters() { close(); }

void CpuCounters::close() {
  for (const auto& [name, descriptors] : open_)
    for (const int descriptor : descriptors) table_.close(descriptor);
  open_.clear();
}

void CpuCounters::begin() {
  close();
  missing_.clear();
  const std::vector<int> threads = table_.threads();
  for (const CounterName& counter : names) {
    std::vector<int>& descriptors = open_[counter.name];
    for (const int thread : threads) {
      const int descriptor = table_.open(counter.type, counter.config, thread);
      if (descriptor == -ESRCH) continue;  // it has ended meanwhile
      if (descriptor < 0) {
        missing_[counter.name] = why(-descriptor);
        break;
      }
      descriptors.push_back(descriptor);
    }
  }
  for (const auto& [name, descriptors] : open_)
    for (const int descriptor : descriptors) table_.enable(descriptor, true);
}

CpuCounts CpuCounters::end() {
  for (const auto& [name, descriptors] : open_)
    for (const int descriptor : descriptors) table_.enable(descriptor, false);
  CpuCounts result;
  result.missing = missing_;
  for (const auto& [name, descriptors] : open_) {
    if (result.missing.contains(name)) continue;
    double sum = 0;
    for (const int descriptor : descriptors) {
      const double count = table_.read(descriptor);
      if (count < 0) result.missing[name] = "it never ran: other counters have the hardware";
      sum += count;
    }
    if (!result.missing.contains(name)) result.counts[name] = sum;
  }
  close();
  return result;
}

}  // namespace deepgap
