// PointSummary: what all Records of one Point say together. The only form in which findings, reports and `export --by point` see
// results; whoever walks a Store adds its Records to a PointCollector and drops them, so a large Store costs memory by its Points.
//
// Records are repeats of each other where Point and device are the same (record/identity.h). A Record without a device, because it failed
// early, counts with the Point's only known device; where there are several it stands for itself. Values come from all Records that ran
// (`ok`): leaving out the invalid ones would show what a tail looks like on good days. A Point with one `incorrect` Record has no values:
// an engine that is sometimes wrong has no speed. Repeats are combined at two levels, those of several nodes (record/identity.h) at three
// (stats/compare.h); a Point measured once has the interval within its run, and `over_repeats` is false. An averaged Record
// (record/averaged.h) has the interval over its repeats, which are not here.
// Plain values; one thread at a time per collector.
#pragma once

#include "record/identity.h"
#include "record/verdict.h"
#include "stats/interval.h"
#include "stats/repeats_ratio.h"

#include <deepgap/record.h>

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

struct MetricSummary {
  Estimate estimate;                 // low and high are absent where nothing is known about the scatter; n: observations of all repeats
  MeanEstimate mean;                 // the same as moments, to compare with another (stats/compare.h)
  bool over_repeats = false;         // the interval is over repeats, else within the only one
  std::vector<RepeatValue> repeats;  // by which block of which run they were measured in, and where: what comparisons are made of
};

// Returns whether two values, of repeats or of nodes, are all that the interval rests on.
bool is_of_two(const MetricSummary& metric);

// Records that ended alike: one line of a list of failures.
struct OutcomeCount {
  Outcome outcome = Outcome::ok;
  Verdict verdict = Verdict::none;
  std::string reason;
  int64_t count = 0;
  std::string stderr_tail;  // stderr of the first failure that has some
};

// The company in which interleaved Records were measured (record/duel_set.h).
struct InterleavedPlace {
  std::string arms;    // "native + onnxruntime"
  int number = 0;      // place among them, from 1; 0: not interleaved, or not all in the same company
  std::string result;  // how it compares with the first of them, in words; of the last Record
};

struct PointSummary {
  std::string point_id;  // identifies the Point alone: the same on every device
  Point point;
  Identity identity;
  std::set<std::string> machines, hosts;  // from its Records, as in Identity; unknown ones are left out
  std::map<uint64_t, std::string> nodes;  // where used Records were measured, by RepeatValue::node; "": unknown
  int64_t averaged_nodes = 0;             // number of nodes behind an averaged Record (record/averaged.h); 0: unknown
  std::set<std::string> runs;             // runs that measured its used Records; unknown ones are left out
  std::string tenant;
  int rank = 0;

  int64_t records = 0;                 // all of them; those behind an averaged Record too
  int64_t used = 0;                    // behind the values
  std::vector<OutcomeCount> outcomes;  // distinct, most frequent first
  // The Point's own: `incorrect` when any is, else `ok` when any is, else that of the most frequent ending (interrupted last).
  Outcome outcome = Outcome::ok;
  // `invalid` when at least half of the used Records are, else `undecided` likewise; else `unstable` when any is one of these or unstable;
  // `as_found` when any is.
  Verdict verdict = Verdict::none;
  std::string reason;       // why the outcome or verdict is not the best one; empty when ok, valid and checked
  bool pooled = false;      // the verdict is of a bound over the queries of all repeats (pooled_bound.h)
  bool unchecked = false;   // any used Record is
  std::string notes;        // noted_facts of the last used Record that has any, joined by commas
  std::string stderr_tail;  // what Records with this outcome wrote last to stderr

  std::map<std::string, MetricSummary> metrics;  // by Metric id
  std::optional<CheckResult> check;              // the one with the lowest SQNR
  StoppingSettings stopping;                     // from the first Record; auto_repeats: from any
  InterleavedPlace interleaved;                  // from all used Records alike
  Facts dispatcher;                              // facts dispatcher.* of the last used Record, without that prefix
  std::set<std::string> backend_versions;
  std::set<std::string> studies;
  std::string currency;     // currency of its costs; empty: it has none, or the currency is not known
  Annotations annotations;  // on any of its Records
  std::string dataset_description;
  int64_t parameters = 0, macs_per_item = 0, flop_per_item = 0, bytes_per_item = 0;
  int64_t first_started_unix_ns = 0, last_started_unix_ns = 0;
  std::shared_ptr<const Facts>
      environment;  // what is the same in all its Records; momentary ones apart (record/momentary.h); shared by the Points of a run

  const MetricSummary* find(const std::string& metric) const;
  int64_t count(Outcome which) const;  // Records with that outcome
  int64_t node_count() const { return averaged_nodes > 0 ? averaged_nodes : static_cast<int64_t>(nodes.size()); }
  PointOnDevice on_device() const { return {point, identity.device}; }
  // Returns whether throughput is the load that a schedule offered: the Point kept up with it, and could perhaps be faster.
  bool offers_load() const { return find("offered_rate") != nullptr; }
  // Has values that may be compared: ok, and valid, as_found or unstable.
  bool usable() const { return outcome == Outcome::ok && (is_sound(verdict) || verdict == Verdict::unstable); }
};

class PointCollector {
 public:
  PointCollector();
  ~PointCollector();
  PointCollector(PointCollector&&) noexcept;
  PointCollector& operator=(PointCollector&&) noexcept;

  void add(const Record& record);
  int64_t records() const;
  // Returns summaries in the order in which the Points were first seen. The collector stays as it is and can take more.
  std::vector<PointSummary> summaries() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::vector<PointSummary> summarize_points(std::span<const Record> records);

}  // namespace deepgap
