// Reads the output of Nsight Compute (ncu --csv) into our own tables, for machines where only it may count.
//
// Both of its forms: one row a metric ("Metric Name", "Metric Unit", "Metric Value"), and one row a kernel (--page raw), whose second line
// has the units. Lines that are not of the table ("==PROF== ...", what the program printed) are passed over; numbers may have thousands
// separators and scaled units (Kbyte, Gbyte, usecond); what is n/a is not there.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace deepgap {

// Counts of one kernel's run, or of several together. What was not counted is not there.
struct KernelCounters {
  std::string kernel;
  std::string family;
  std::array<int, 3> grid{0, 0, 0}, block{0, 0, 0};  // 0: not reported
  int64_t stream = -1, device = -1;
  // Values by ncu's name with its way of adding up ("dram__bytes_read.sum"), in bytes, seconds, counts, fractions.
  std::map<std::string, double> metrics;
  double traced_seconds = 0;  // duration in CUPTI's records, preferred to a counted time; 0: not traced
};

struct NcuFile {
  std::vector<KernelCounters> kernels;  // in the order in which they ran
  size_t not_available = 0;             // cells that were n/a or empty
  std::vector<std::string> notes;       // hints that a reader should know
};

// Throws Error{input} "PATH:LINE: cause" for what is not such a table, or a value that is not a number.
NcuFile read_ncu_csv(const std::string& text, const std::string& path);

// A value and its unit as ncu writes them in bytes, seconds, hertz, fractions or counts: ("1,234.5", "Kbyte") is 1234500. nullopt-like:
// false where it is not a number.
bool ncu_value(const std::string& value, const std::string& unit, double& result);

// The quantities of a training study, of one kernel or a sum (the fourth study's names): what they need and what was not counted is named.
struct KernelSums {
  int kernels = 0;
  double seconds = 0;
  double dram_bytes = 0;
  double l2_bytes = 0;  // through the second-level cache; 0: not counted
  double l1_bytes = 0;  // bytes that loads and stores of threads ask the first-level caches for, without shared memory
  double dram_read_bytes = 0, dram_written_bytes = 0, l2_read_bytes = 0, l2_written_bytes = 0;  // 0 where they were not counted apart
  double fp32_flop = 0;                                                                         // fadd + fmul + 2 ffma
  double half_flop = 0, double_flop = 0;
  double tensor_flop = 0;                                                     // on tensor cores, multiply and add are two
  int timed = 0, with_dram = 0, with_flop = 0, with_tensor = 0, with_l1 = 0;  // kernels of which it was counted

  // Each is true only if all kernels were counted: what some of them did does not give the rate of the whole.
  bool has_seconds() const { return timed > 0 && timed == kernels; }
  bool has_dram() const { return with_dram > 0 && with_dram == kernels; }
  bool has_l1() const { return with_l1 > 0 && with_l1 == kernels; }
  bool has_flop() const { return with_flop > 0 && with_flop == kernels; }
  bool has_tensor() const { return with_tensor > 0 && with_tensor == kernels; }

  // In cycles, added up over the kernels: with a warp in flight, and all, of a multiprocessor; warps in flight as a share of what it can
  // hold, times cycles with one.
  double active_cycles = 0, cycles = 0, warp_cycles = 0;
  int with_activity = 0;
  bool has_activity() const { return with_activity > 0 && with_activity == kernels && cycles > 0 && active_cycles > 0; }
  double busy() const { return active_cycles / cycles; }            // the part of the time in which a multiprocessor had work
  double occupancy() const { return warp_cycles / active_cycles; }  // achieved, while it had work

  double flop() const { return fp32_flop + half_flop + double_flop + tensor_flop; }
};
KernelSums sums_of(const std::vector<KernelCounters>& kernels);

// Returns whether a metric counts tensor-core operations; a parent and its children never count together.
bool is_tensor_operations(const std::string& metric, const std::map<std::string, double>& all);

}  // namespace deepgap
