// Counts what the CPU does while something runs on this process's threads: cycles, instructions, misses, floating-point operations by
// width, by Linux's perf_event; and meanwhile the bytes of the whole machine's memory and its energy. If the kernel does not allow a
// counter, the reason is recorded: never a zero in its place.
#pragma once

#include "kernels/machine_events.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace deepgap {

struct CpuCounts {
  std::map<std::string, double> counts;        // "cycles", "instructions", "last_cache_misses", ...: of all threads together
  std::map<std::string, std::string> missing;  // by the same names: why there is none
};

// Functions that open and read a thread's counter; tests bring their own.
struct CounterTable {
  // Returns a descriptor, or minus the error's number. Counts the thread's own code outside of the kernel, stopped at first.
  std::function<int(int type, unsigned long long config, int thread)> open;
  std::function<void(int descriptor, bool on)> enable;
  // Its count, scaled up where it shared the hardware with others; a negative number: not readable.
  std::function<double(int descriptor)> read;
  std::function<void(int descriptor)> close;
  std::function<std::vector<int>()> threads;  // ids of this process's threads
  // Like `open`, but counts everything that runs on a CPU, or on the socket that the CPU stands for.
  std::function<int(int type, unsigned long long config, int cpu)> open_machine;
  std::vector<WidthEvent> width_events;      // events that this CPU has
  std::vector<MachineEvent> machine_events;  // likewise
};
CounterTable perf_event_table();

// Counts from begin() to end(), of the threads that are there at begin(). One at a time.
class CpuCounters {
 public:
  explicit CpuCounters(CounterTable table = perf_event_table());
  ~CpuCounters();
  CpuCounters(const CpuCounters&) = delete;
  CpuCounters& operator=(const CpuCounters&) = delete;

  void begin();
  CpuCounts end();

 private:
  void close();
  void open(const std::string& name, int type, unsigned long long config, double scale, const std::vector<int>& threads);
  void open_machine();
  void disbelieve_zeros(CpuCounts& result) const;

  struct Descriptor {
    int number;
    double scale;
  };
  CounterTable table_;
  std::map<std::string, std::vector<Descriptor>> open_;
  std::map<std::string, std::string> missing_;
};

}  // namespace deepgap
