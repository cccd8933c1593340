// Accuracy: the share of labelled samples answered rightly (worker/accuracy.h), and its loss against FP32 (analysis/accuracy_loss.h).
#include "analysis/metric.h"
#include "analysis/steady.h"

namespace deepgap {
namespace {

Metric of_worker(const std::string& id, const std::string& describe) {
  return {id, "1", Better::higher, describe, [id](const Record& record) { return left_by_worker(record, id); }};
}

const bool registered = register_metrics({
    in_column({120}, of_worker("accuracy_top1", "share of the labelled samples whose class has the largest score, with Wilson's interval")),
    of_worker("accuracy_top5",
              "share of the labelled samples whose class is among the five with the largest scores, with Wilson's interval"),
    in_column({130}, {"accuracy_loss", "1", Better::lower,
                      "top-1 accuracy that fp32 has of the same model and samples in the store, minus the point's own",
                      [](const Record&) { return std::optional<Estimate>(); }}),
});

}  // namespace
}  // namespace deepgap
