#include "kernels/summary.h"

#include <algorithm>
#include <map>

namespace deepgap {
namespace {

struct Busy {
  Nanoseconds begin, end;
  const std::string* name;
};

std::vector<Busy> all_work(const Trace& trace) {
  std::vector<Busy> work;
  for (const Kernel& kernel : trace.kernels) work.push_back({kernel.begin, kernel.end, &kernel.name});
  for (const DeviceCopy& copy : trace.copies) work.push_back({copy.begin, copy.end, &copy.what});
  std::sort(work.begin(), work.end(), [](const Busy& a, const Busy& b) { return a.begin < b.begin; });
  return work;
}

}  // namespace

TraceSummary summary_of(const Trace& trace) {
  TraceSummary summary;
  std::map<std::string, FamilyTime> families;
  for (const Kernel& kernel : trace.kernels) {
    FamilyTime& family = families[kernel.family];
    family.family = kernel.family;
    family.kernels++;
    family.ns += kernel.ns();
    summary.kernel_ns += kernel.ns();
  }
  for (const DeviceCopy& copy : trace.copies) summary.copy_ns += copy.end - copy.begin;
  for (auto& [name, family] : families) summary.families.push_back(std::move(family));
  std::stable_sort(summary.families.begin(), summary.families.end(), [](const auto& a, const auto& b) { return a.ns > b.ns; });
  const std::vector<Busy> work = all_work(trace);
  if (work.empty()) return summary;
  Nanoseconds end = work.front().begin;
  const std::string* last = nullptr;
  for (const Busy& one : work) {
    if (one.begin > end) {
      if (last != nullptr) summary.gaps.push_back({end, one.begin, *last, *one.name});
      end = one.begin;
    }
    if (one.end > end) {
      summary.busy += one.end - end;
      end = one.end;
      last = one.name;
    }
  }
  summary.span = end - work.front().begin;
  std::stable_sort(summary.gaps.begin(), summary.gaps.end(), [](const Gap& a, const Gap& b) { return a.ns() > b.ns(); });
  return summary;
}

}  // namespace deepgap
