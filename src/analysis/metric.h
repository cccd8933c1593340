// Metric: a named value with unit and direction computed from a Record. One file per family in metrics/, by registrar: printers know no
// metric by name, a new metric changes no printer.
#pragma once

#include <deepgap/record.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

enum class Better { higher, lower, neither };

class Metric {
 public:
  virtual ~Metric() = default;
  virtual std::string id() const = 0;    // the export's column: latency_p99_ms
  virtual std::string unit() const = 0;  // ms
  virtual Better better() const = 0;
  virtual std::string describe() const = 0;  // how it is made, one sentence
  // nullopt: this Record has no source for it.
  virtual std::optional<Estimate> compute(const Record& record) const = 0;
};

// All metrics of a Record with its timings and series still in it, into record.estimates. Called once, before the Store.
void compute_metrics(Record& record);

}  // namespace deepgap
