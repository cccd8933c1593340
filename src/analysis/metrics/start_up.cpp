// What it takes before the first answer, and how long the phases of a run were.
#include "analysis/metric.h"
#include "analysis/steady.h"

namespace deepgap {
namespace {

std::optional<Estimate> once(const std::optional<double>& value) {
  if (!value) return std::nullopt;
  return Estimate{*value, {}, {}, 1};
}

const bool registered = register_metrics({
    {"load_s", "s", Better::lower, "time to make the Model: its file read, or its weights made",
     [](const Record& r) { return once(r.load_s); }},
    {"compile_s", "s", Better::lower, "time the engine took to load and compile the model",
     [](const Record& r) { return once(r.compile_s); }},
    {"first_result_ms", "ms", Better::lower, "latency of the very first query after loading",
     [](const Record& r) { return once(r.first_result_ms); }},
    {"warm_up_s", "s", Better::neither, "length of the warm-up before the measured window",
     [](const Record& r) { return once(window_seconds(r, "warm_up")); }},
    {"steady_s", "s", Better::neither, "length of the measured (steady) window",
     [](const Record& r) { return once(window_seconds(r, "steady")); }},
});

}  // namespace
}  // namespace deepgap
