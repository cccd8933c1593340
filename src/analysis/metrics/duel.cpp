// Of a contender of a duel, what its turns have shown against the first contender's. The parent knows it, who sees all of them.
#include "analysis/metric.h"
#include "analysis/steady.h"

namespace deepgap {
namespace {

const bool registered = register_metrics({
    {"duel_ratio", "1", Better::higher,
     "throughput over that of the duel's first contender, by pairs of turns; the interval holds whenever it is looked at "
     "(docs/how-to/compare-engines.md)",
     [](const Record& r) { return left_by_worker(r, "duel_ratio"); }},
    {"duel_needs_s", "s", Better::lower, "how much longer the duel would have to take to settle this, with the scatter seen",
     [](const Record& r) { return left_by_worker(r, "duel_needs_s"); }},
});

}  // namespace
}  // namespace deepgap
