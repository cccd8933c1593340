// Counts of hardware counters for one unit of work (a batch) on a GPU: for the whole as it is timed, and for each of its kernels or layers,
// run one after the other. Plain data; count_run.h takes it.
#pragma once

#include "kernels/ncu_csv.h"

#include <string>
#include <vector>

namespace deepgap {

// A sum of metrics over one of the known ranges.
struct KnownCount {
  std::string what;   // "DRAM bytes read by a copy"
  std::string group;  // a name from counter_groups()
  size_t range = 0;
  std::vector<std::string> metrics;  // those of them that were counted are added up
  double expected = 0;
  double tolerance = 0;  // as a share of `expected`
  double counted = -1;   // -1: not yet
  bool is_right() const;
};

// A kernel, or a layer if CUPTI does not distinguish kernels. Its time comes from the trace, not from the counters. Its family is not
// stored here: the trace's kernels get theirs elsewhere.
struct CountedPart {
  KernelCounters counters;
  int layer = -1;  // in Trace::layers
};

struct CountedRun {
  std::string chip;  // CUPTI's name: "GH100"
  bool by_kernel = false;
  std::vector<CountedPart> parts;  // in launch order; empty if they could not be distinguished
  KernelCounters whole;            // one plain run, as it is timed; no time in it
  std::vector<KnownCount> known;   // counts of kernels whose right counts are known
  std::vector<std::string> notes;  // metrics that were not counted, and why
  int passes = 0;                  // number of times that the work was done for it
  std::string missing;             // why there is nothing; empty: there is

  bool has_counts() const { return missing.empty() && !whole.metrics.empty(); }
};

template <typename V>
void fields(V& visit, KernelCounters& counters) {
  visit("name", counters.kernel);
  visit("family", counters.family);
  visit("grid", counters.grid);
  visit("block", counters.block);
  visit("stream", counters.stream);
  visit("traced_s", counters.traced_seconds);
  visit("metrics", counters.metrics);
}

template <typename V>
void fields(V& visit, CountedPart& part) {
  fields(visit, part.counters);
  visit("layer", part.layer);
}

template <typename V>
void fields(V& visit, KnownCount& known) {
  visit("what", known.what);
  visit("group", known.group);
  visit("expected", known.expected);
  visit("counted", known.counted);
  visit("tolerance", known.tolerance);
}

template <typename V>
void fields(V& visit, CountedRun& run) {
  visit("chip", run.chip);
  visit("by_kernel", run.by_kernel);
  visit("parts", run.parts);
  visit("whole", run.whole);
  visit("known", run.known);
  visit("parts_missing", run.notes);
  visit("passes", run.passes);
  visit("missing", run.missing);
}

}  // namespace deepgap
