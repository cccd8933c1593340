// Metrics of a duel: how each contender's turns compare with the first contender's. The parent computes them, because it sees all turns.
#include "analysis/duel/undisturbed_ratio.h"
#include "analysis/metric.h"
#include "analysis/steady.h"

namespace deepgap {
namespace {

const bool registered = register_metrics({
    {"duel_ratio", "1", Better::higher,
     "throughput over that of the first arm of an interleaved comparison, by pairs of time slices; the interval holds whenever it is "
     "looked at",
     [](const Record& r) { return left_by_worker(r, "duel_ratio"); }},
    {undisturbed_ratio_metric, "1", Better::higher,
     "the same by the parts of both arms' time slices in which nothing disturbed them, known at the end only",
     [](const Record& r) { return left_by_worker(r, undisturbed_ratio_metric); }},
    {"duel_needs_s", "s", Better::lower, "additional time that an interleaved comparison needs to settle this, with the scatter seen",
     [](const Record& r) { return left_by_worker(r, "duel_needs_s"); }},
});

}  // namespace
}  // namespace deepgap
