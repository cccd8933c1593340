// MarkMeter: a Target that passes everything on and adds up the times between the marks of its queries: copies to the device, computing,
// copies back, as the engine's device clock saw them; of a step of training its parts too. Costs well below a microsecond a query.
#pragma once

#include "scenario/forwarding_target.h"
#include "stats/correlated.h"

#include <deepgap/record.h>

#include <map>
#include <mutex>
#include <string>

namespace deepgap {

class MarkMeter final : public ForwardingTarget {
 public:
  explicit MarkMeter(Target& target) : ForwardingTarget(target) {}  // `target` outlives it
  void on_completion(TargetCompletion completion) override;

  // "copy_in_ms", "compute_ms", "copy_out_ms", and of steps "forward_ms", "backward_ms", "allreduce_ms", "update_ms": means over the
  // queries that had both marks; none where the engine sets none.
  std::map<std::string, Estimate> estimates() const;
  void restart();  // forgets what came before

 private:
  void add(std::span<const Mark> marks);

  struct Series {
    RatioSeries copy_in, compute, copy_out, forward, backward, allreduce, update;
  };
  mutable std::mutex mutex_;
  Series series_;
};

}  // namespace deepgap
