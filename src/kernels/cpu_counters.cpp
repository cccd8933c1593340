#include "kernels/cpu_counters.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

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

// `thread` and no CPU, or all threads (-1) of a CPU, and then the kernel's too: what is outside of cores cannot leave it out.
int open_event(int type, unsigned long long config, int thread, int cpu) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = static_cast<unsigned>(type);
  attributes.config = config;
  attributes.disabled = 1;
  attributes.exclude_kernel = attributes.exclude_hv = cpu < 0 ? 1 : 0;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  const long descriptor = ::syscall(SYS_perf_event_open, &attributes, thread, cpu, -1, PERF_FLAG_FD_CLOEXEC);
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
      return "this CPU or virtual machine does not offer it";
    case ENOSYS:
      return "this kernel has no perf_event";
    default:
      return std::strerror(error);
  }
}

}  // namespace

CounterTable perf_event_table() {
  std::ifstream file("/proc/cpuinfo");
  const std::string cpuinfo{std::istreambuf_iterator<char>(file), {}};
  return {.open = [](int type, unsigned long long config, int thread) { return open_event(type, config, thread, -1); },
          .enable = [](int descriptor, bool on) { ::ioctl(descriptor, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0); },
          .read = read_counter,
          .close = [](int descriptor) { ::close(descriptor); },
          .threads = own_threads,
          .open_machine = [](int type, unsigned long long config, int cpu) { return open_event(type, config, -1, cpu); },
          .width_events = width_events(cpuinfo),
          .machine_events = machine_events()};
}

CpuCounters::CpuCounters(CounterTable table) : table_(std::move(table)) {}
CpuCounters::~CpuCounters() { close(); }

void CpuCounters::close() {
  for (const auto& [name, descriptors] : open_)
    for (const Descriptor& descriptor : descriptors) table_.close(descriptor.number);
  open_.clear();
}

void CpuCounters::open(const std::string& name, int type, unsigned long long config, double scale, const std::vector<int>& threads) {
  std::vector<Descriptor>& descriptors = open_[name];
  for (const int thread : threads) {
    const int descriptor = table_.open(type, config, thread);
    if (descriptor == -ESRCH) continue;  // it has ended meanwhile
    if (descriptor < 0) {
      missing_[name] = why(-descriptor);
      break;
    }
    descriptors.push_back({descriptor, scale});
  }
}

void CpuCounters::open_machine() {
  for (const std::string& name : machine_event_names()) missing_[name] = "this system has no perf_event source for it";
  for (const MachineEvent& event : table_.machine_events) missing_.erase(event.name);
  for (const MachineEvent& event : table_.machine_events)
    for (const int cpu : event.cpus) {
      const int descriptor = table_.open_machine(event.type, event.config, cpu);
      if (descriptor < 0)
        missing_[event.name] = why(-descriptor);  // a part of the controllers would be no sum
      else
        open_[event.name].push_back({descriptor, event.scale});
    }
}

void CpuCounters::begin() {
  close();
  missing_.clear();
  const std::vector<int> threads = table_.threads();
  for (const CounterName& counter : names) open(counter.name, counter.type, counter.config, 1, threads);
  for (const std::string& name : width_event_names()) missing_[name] = "deepgap does not know its code on this kind of CPU";
  for (const WidthEvent& event : table_.width_events) {
    missing_.erase(event.name);
    open(event.name, PERF_TYPE_RAW, event.config, event.operations, threads);
  }
  open_machine();
  for (const auto& [name, descriptors] : open_)
    for (const Descriptor& descriptor : descriptors) table_.enable(descriptor.number, true);
}

// Virtual machines take the codes and count nothing.
void CpuCounters::disbelieve_zeros(CpuCounts& result) const {
  const auto& fp = width_event_names();
  const auto counted = [&](const std::string& name) { return result.counts.contains(name) && result.counts.at(name) > 0; };
  if (std::any_of(fp.begin(), fp.end(), counted)) return;
  for (const std::string& name : fp)
    if (result.counts.erase(name) > 0) result.missing[name] = "all of its kind read 0, which no run of a network does";
}

CpuCounts CpuCounters::end() {
  for (const auto& [name, descriptors] : open_)
    for (const Descriptor& descriptor : descriptors) table_.enable(descriptor.number, false);
  CpuCounts result;
  result.missing = missing_;
  for (const auto& [name, descriptors] : open_) {
    if (result.missing.contains(name)) continue;
    double sum = 0;
    for (const Descriptor& descriptor : descriptors) {
      const double count = table_.read(descriptor.number);
      if (count < 0) result.missing[name] = "it never ran: other counters have the hardware";
      sum += count * descriptor.scale;
    }
    if (!result.missing.contains(name)) result.counts[name] = sum;
  }
  disbelieve_zeros(result);
  close();
  return result;
}

}  // namespace deepgap
