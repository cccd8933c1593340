// MarkMeter: a Target that passes everything on and adds up the times between the marks of its queries: copies to the device, computing,
// copies back, as the engine's device clock saw them. Costs well below a microsecond a query.
#pragma once

#include "stats/correlated.h"

#include <deepgap/record.h>
#include <deepgap/target.h>

#include <map>
#include <mutex>
#include <string>

namespace deepgap {

class MarkMeter final : public Target {
 public:
  explicit MarkMeter(Target& target) : target_(target) {}  // `target` outlives it
  TargetLimits limits() const override { return target_.limits(); }
  void on_completion(TargetCompletion completion) override;
  void load(std::span<const uint32_t> indices) override { target_.load(indices); }
  void unload(std::span<const uint32_t> indices) override { target_.unload(indices); }
  void submit(std::span<const Query> queries) override { target_.submit(queries); }
  void flush() override { target_.flush(); }
  void cancel() override { target_.cancel(); }

  // "copy_in_ms", "compute_ms", "copy_out_ms": means over the queries that had both marks; none where the engine sets none.
  std::map<std::string, Estimate> estimates() const;

 private:
  void add(std::span<const Mark> marks);

  Target& target_;
  mutable std::mutex mutex_;
  RatioSeries copy_in_, compute_, copy_out_;
};

}  // namespace deepgap
