// Metric: a named value with unit and direction computed from a Record. One file per family in metrics/, by registrar: printers know no
// metric by name, a new metric changes no printer. The worker computes them once, while timings and series are at hand; everything after
// it reads record.estimates.
#pragma once

#include <deepgap/record.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

enum class Better { higher, lower, neither };

// Thread-safe: no state.
class Metric {
 public:
  virtual ~Metric() = default;
  virtual std::string id() const = 0;    // the export's column: latency_p99_ms
  virtual std::string unit() const = 0;  // ms; "1" for counts and shares
  virtual Better better() const = 0;
  virtual std::string describe() const = 0;  // how it is made, one sentence
  // nullopt: this Record has no source for it.
  virtual std::optional<Estimate> compute(const Record& record) const = 0;
};

// All metrics of a Record with its timings and series still in it, into record.estimates, and the sketch of its latencies into its facts.
// Does nothing to a Record whose outcome is not ok, but for what it used (memory, times of loading).
void compute_metrics(Record& record);
// The same for a Record that has metrics already: what cannot be computed any more goes.
void recompute_metrics(Record& record);

// Every known Metric, sorted by id. Made once; they live as long as the program.
const std::vector<std::unique_ptr<Metric>>& all_metrics();
const Metric* find_metric(const std::string& id);

// A Metric that is a function of the Record, which nearly all are. A file in metrics/ describes its family as a list of these:
//     const bool registered = register_metrics({{.id = "load_s", .unit = "s", ...}});
struct MetricSpec {
  std::string id;
  std::string unit;
  Better better = Better::neither;
  std::string describe;
  std::function<std::optional<Estimate>(const Record&)> compute;
};
bool register_metrics(const std::vector<MetricSpec>& family);

}  // namespace deepgap
