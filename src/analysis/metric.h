// Metric: a named value computed from a Record, with what all who use it must know: its unit, which direction is better, how repeats and
// processes combine, and where reports show it. One file per family in metrics/, by registrar: printers know no metric by name, a new
// metric changes no printer. The worker computes them once, while timings and series are at hand; everything after it reads
// record.estimates.
#pragma once

#include <deepgap/record.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

enum class Better { higher, lower, neither };

// The way in which several values of a metric make one.
enum class Combine : uint8_t { mean, sum, least, most };

// The place of a metric in the report's table of points.
struct MetricColumn {
  int order = 0;         // columns ascend by it; 0: the table has no column of it
  bool is_main = false;  // a narrow page shows it, too
};

// Plain data; thread-safe. A file in metrics/ describes its family as a list of these:
//     const bool registered = register_metrics({{.id = "load_s", .unit = "s", ...}});
struct Metric {
  std::string id;    // the export's column: latency_p99_ms
  std::string unit;  // ms; "1" for counts and shares; "currency" for money
  Better better = Better::neither;
  std::string describe;  // how it is made, one sentence
  // Returns nullopt if this Record has no source for it.
  std::function<std::optional<Estimate>(const Record&)> compute;
  Combine over_repeats = Combine::mean;  // combines the repeats of a Point
  Combine over_ranks = Combine::mean;    // combines the processes that run one Point together
  MetricColumn column = {};
  std::string title = {};  // in charts, such as "Latency, 99th percentile"; empty: the id
  std::string per = {};    // what a value is for, behind its unit: "an item"

  bool is_money() const { return unit.starts_with("currency"); }
};

// All metrics of a Record with its timings and series still in it, into record.estimates, and the sketch of its latencies into its facts.
// Does nothing to a Record whose outcome is not ok, but for what it used (memory, times of loading).
void compute_metrics(Record& record);
// Computes the metrics of a Record anew; a metric that cannot be computed any more is removed.
void recompute_metrics(Record& record);

// Every known Metric, sorted by id. Made once; they live as long as the program.
const std::vector<Metric>& all_metrics();
const Metric* find_metric(const std::string& id);

// "ms", "EUR"; empty for counts and shares.
std::string unit_text(const Metric& metric, const std::string& currency);
// Returns the unit for use beside a number: "J an item", "EUR for 1000 items".
std::string unit_of_value(const Metric& metric, const std::string& currency);
// An estimate in a unit in which people read it, such as 6.975 "mJ an item" for 0.006975 J.
struct ReadableValue {
  Estimate estimate;
  std::string unit;
};
ReadableValue readable_value(const Metric& metric, const Estimate& estimate, const std::string& currency);

// The metric with what a family's rows do not say, for lists of rows.
Metric over_repeats(Combine combine, Metric metric);
Metric over_ranks(Combine combine, Metric metric);
Metric in_column(MetricColumn column, Metric metric);

bool register_metrics(const std::vector<Metric>& family);

}  // namespace deepgap
