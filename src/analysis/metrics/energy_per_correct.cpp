// Energy per correct answer, where labels say which are correct: an engine or precision that is cheap and often wrong is not cheap.
#include "analysis/metric.h"
#include "analysis/steady.h"

namespace deepgap {
namespace {

// Assumes that the share of correct answers among the labelled items (metrics/accuracy.cpp) holds for all items that were measured.
std::optional<Estimate> energy_per_correct_answer(const Record& record) {
  const auto energy = find_metric("energy_j_per_item")->compute(record), right = left_by_worker(record, "accuracy_top1");
  if (!energy || !right || right->value <= 0) return std::nullopt;
  Estimate cost{energy->value / right->value, {}, {}, energy->n};
  if (energy->low && energy->high && right->low && right->high && *right->low > 0) {
    cost.low = *energy->low / *right->high;
    cost.high = *energy->high / *right->low;
  }
  return cost;
}

const bool registered = register_metrics({
    {"energy_j_per_correct", "J", Better::lower, "energy_j_per_item divided by accuracy_top1; the interval holds the ends of both",
     energy_per_correct_answer},
});

}  // namespace
}  // namespace deepgap
