#include "kernels/count_run.h"

#include "base/text.h"
#include "cuda/objects.h"
#include "kernels/chip_metrics.h"
#include "kernels/counter_table.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace deepgap {
namespace {

constexpr const char* whole_name = "whole";
constexpr size_t spare_ranges = 16;

// Kernels as they were launched: their order on the device may be another where there are streams.
std::vector<const Kernel*> in_order_of_launch(const Trace& trace) {
  std::vector<const Kernel*> kernels;
  for (const Kernel& kernel : trace.kernels) kernels.push_back(&kernel);
  std::stable_sort(kernels.begin(), kernels.end(), [](const Kernel* a, const Kernel* b) { return a->correlation < b->correlation; });
  return kernels;
}

void add(std::map<std::string, double>& to, const std::map<std::string, double>& from) { to.insert(from.begin(), from.end()); }

class Counter {
 public:
  Counter(const cupti::Api& api, int device, KnownWork& known, const WorkToCount& work)
      : known_(known), work_(work), profiler_(api, device), kernels_(in_order_of_launch(*work.traced)) {
    run_.chip = profiler_.chip();
    const int architecture = cuda::device_facts(device).architecture();
    groups_ = counter_groups_of(architecture, supported_metrics(api, profiler_.chip()));
  }

  CountedRun counted() {
    run_.known = known_.counts();
    for (const MetricGroup& group : groups_) {
      try {
        count_group(group);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::refused) throw;
        run_.notes.push_back(fmt::format("{} were not counted: {}", words(group), error.what()));
      }
    }
    std::erase_if(run_.known, [](const KnownCount& one) { return one.counted < 0; });
    if (run_.whole.metrics.empty())
      run_.missing = run_.notes.empty() ? "the chip has none of the counters that are asked for" : run_.notes.front();
    return std::move(run_);
  }

 private:
  static std::string words(const MetricGroup& group) {
    if (group.what == "bytes") return "bytes and how busy the device was";
    if (group.what == "l1") return "bytes of first-level caches";
    return group.what == "lanes" ? "operations of threads" : "operations of tensor cores";
  }

  void count_group(const MetricGroup& group) {
    // Nothing of a group is kept before all of it is believed.
    const Counted whole = counted_beside_known(group, RangeOf::marks, 1, [&](const RangeProfiler::Mark& mark) {
      mark(whole_name);
      work_.plain();
    });
    believe(group, whole);
    const auto& values = whole.ranges.at(known_.ranges()).values;
    try {
      count_parts(group);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::refused) throw;
      if (all_zero(values))
        throw Error(ErrorKind::refused,
                    fmt::format("they are zero for the whole run, so there is nothing to compare with: {}", error.what()));
      add(run_.whole.metrics, values);
      run_.notes.push_back(fmt::format("{} were counted of the whole alone: {}", words(group), error.what()));
      return;
    }
    add(run_.whole.metrics, values);
    if (all_zero(values)) sum_up_parts(group);
  }

  static bool all_zero(const std::map<std::string, double>& values) {
    return std::all_of(values.begin(), values.end(), [](const auto& value) { return value.second == 0; });
  }

  // CUPTI counts no thread operations in a CUDA graph and reports no error (an H200, driver 580, CUDA 13.0): then the whole is the sum of
  // its parts, which were launched one by one.
  void sum_up_parts(const MetricGroup& group) {
    bool any = false;
    for (const std::string& metric : group.metrics) {
      double sum = 0;
      for (const CountedPart& part : run_.parts)
        if (const auto found = part.counters.metrics.find(metric); found != part.counters.metrics.end()) sum += found->second;
      any = any || sum > 0;
      if (run_.whole.metrics.contains(metric)) run_.whole.metrics[metric] = sum;
    }
    if (any)
      run_.notes.push_back(fmt::format("{} of the whole are the sum of its {}, since the counters read zero for the whole", words(group),
                                       run_.by_kernel ? "kernels" : "layers"));
  }

  // Known work first, then `work`, which makes `ranges` more of them.
  Counted counted_beside_known(const MetricGroup& group, RangeOf of, size_t ranges,
                               const std::function<void(const RangeProfiler::Mark&)>& work) {
    const auto both = [&](const RangeProfiler::Mark& mark) {
      known_.run(mark);
      work(mark);
    };
    Counted counted = profiler_.count(group.metrics, of, ReplayBy::caller, known_.ranges() + ranges + spare_ranges, both, work_.before);
    run_.passes += counted.passes;
    return counted;
  }

  // Counts as many parts as were traced, from the range `first` on; else keeps nothing.
  Counted counted_parts(const MetricGroup& group, RangeOf of, size_t first, size_t traced, const char* what,
                        const std::function<void(const RangeProfiler::Mark&)>& work) {
    Counted counted = counted_beside_known(group, of, first - known_.ranges() + traced, work);
    if (counted.ranges.size() != first + traced)
      throw Error(ErrorKind::refused, fmt::format("{} {} were counted where {} were traced",
                                                  static_cast<int64_t>(counted.ranges.size()) - static_cast<int64_t>(first), what, traced));
    believe(group, counted);
    return counted;
  }

  void add_to_parts(const Counted& counted, size_t first) {
    for (size_t i = 0; i < run_.parts.size(); ++i) add(run_.parts[i].counters.metrics, counted.ranges[first + i].values);
  }

  // The same passes counted work whose counts are known.
  void believe(const MetricGroup& group, const Counted& counted) {
    bool any = false;
    std::vector<std::string> wrong;
    for (KnownCount& known : run_.known) {
      if (known.group != group.what) continue;
      const auto& values = counted.ranges.at(known.range).values;
      double sum = 0;
      bool has = false;
      for (const std::string& metric : known.metrics)
        if (const auto found = values.find(metric); found != values.end()) {
          sum += found->second;
          has = true;
        }
      if (!has) continue;
      any = true;
      known.counted = sum;
      if (!known.is_right()) wrong.push_back(fmt::format("{} are {:.6g} and were counted as {:.6g}", known.what, known.expected, sum));
    }
    if (!wrong.empty()) throw Error(ErrorKind::refused, "a kernel whose counts are known was counted wrongly: " + join(wrong, "; "));
    if (!any) throw Error(ErrorKind::refused, "no kernel shows whether its counters are right");
  }

  void count_parts(const MetricGroup& group) {
    if (kernels_.empty()) throw Error(ErrorKind::refused, "kernels were not traced");
    if (!tried_kernels_ || run_.by_kernel) {
      const bool first = !tried_kernels_;
      tried_kernels_ = true;
      try {
        count_kernels(group);
        run_.by_kernel = true;
        return;
      } catch (const Error& error) {
        if (!first || error.kind() != ErrorKind::refused) throw;
        run_.notes.push_back(fmt::format("counted layer by layer, not kernel by kernel: {}", error.what()));
      }
    }
    count_layers(group);
  }

  void one_by_one(const RangeProfiler::Mark& mark) {
    if (!work_.layers(mark)) work_.plain();
  }

  void count_kernels(const MetricGroup& group) {
    const size_t first = known_.ranges();
    const Counted counted = counted_parts(group, RangeOf::kernels, first, kernels_.size(), "kernels",
                                          [&](const RangeProfiler::Mark& mark) { one_by_one(mark); });
    if (run_.parts.empty())
      for (const Kernel* kernel : kernels_) run_.parts.push_back(part_of(*kernel));
    add_to_parts(counted, first);
  }
  static CountedPart part_of(const Kernel& kernel) {
    CountedPart part;
    part.counters.kernel = kernel.name;
    part.counters.grid = kernel.grid;
    part.counters.block = kernel.block;
    part.counters.stream = kernel.stream;
    part.counters.traced_seconds = static_cast<double>(kernel.ns()) / 1e9;
    part.layer = kernel.layer;
    return part;
  }

  void count_layers(const MetricGroup& group) {
    const Trace& trace = *work_.traced;
    if (trace.layers.empty()) throw Error(ErrorKind::refused, "the engine does not report which work belongs to which layer");
    const size_t first = known_.ranges() + 1;
    const Counted counted =
        counted_parts(group, RangeOf::marks, first, trace.layers.size(), "layers", [&](const RangeProfiler::Mark& mark) {
          mark("before the layers");
          one_by_one(mark);
        });
    if (run_.parts.empty()) make_layers();
    add_to_parts(counted, first);
  }
  void make_layers() {
    const Trace& trace = *work_.traced;
    for (size_t i = 0; i < trace.layers.size(); ++i) {
      CountedPart& part = run_.parts.emplace_back();
      part.counters.kernel = trace.layers[i].name;
      part.layer = static_cast<int>(i);
    }
    for (const Kernel& kernel : trace.kernels) {
      if (kernel.layer < 0) continue;
      run_.parts[static_cast<size_t>(kernel.layer)].counters.traced_seconds += static_cast<double>(kernel.ns()) / 1e9;
    }
  }

  KnownWork& known_;
  const WorkToCount& work_;
  RangeProfiler profiler_;
  std::vector<const Kernel*> kernels_;
  std::vector<MetricGroup> groups_;
  CountedRun run_;
  bool tried_kernels_ = false;
};

}  // namespace

CountedRun count_run(const cupti::Api& api, int device, KnownWork& known, const WorkToCount& work) {
  try {
    return Counter(api, device, known, work).counted();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::refused) throw;
    CountedRun none;
    none.missing = error.what();
    return none;
  }
}

}  // namespace deepgap
