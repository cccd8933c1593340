// Times before the first answer, and the length of a run's phases.
#include "analysis/metric.h"
#include "analysis/steady.h"
#include "record/fact_values.h"

namespace deepgap {
namespace {

std::optional<Estimate> once(const std::optional<double>& value) {
  if (!value) return std::nullopt;
  return Estimate{*value, {}, {}, 1};
}

// Returns a part of the load time that an engine reports, such as "compile.lower_s".
std::optional<Estimate> part(const Record& record, const std::string& name) {
  const double* seconds = fact_as<double>(record.facts, "compile." + name + "_s");
  return seconds == nullptr ? std::nullopt : std::optional(Estimate{*seconds, {}, {}, 1});
}

const bool registered = register_metrics({
    {"load_s", "s", Better::lower, "time to make the Model: its file read, or its weights made",
     [](const Record& r) { return once(r.load_s); }},
    {"compile_s", "s", Better::lower, "time the engine took to load and compile the model",
     [](const Record& r) { return once(r.compile_s); }},
    {"compile_lower_s", "s", Better::lower, "of compile_s: passes over the graph, and lowering it to steps",
     [](const Record& r) { return part(r, "lower"); }},
    {"compile_kernels_s", "s", Better::lower, "of compile_s: compiling kernels, or reading those that were compiled before",
     [](const Record& r) { return part(r, "kernels"); }},
    {"compile_tune_s", "s", Better::lower, "of compile_s: measuring which kernels are the quickest",
     [](const Record& r) { return part(r, "tune"); }},
    {"compile_pack_s", "s", Better::lower, "of compile_s: bringing weights into the order that kernels read them in",
     [](const Record& r) { return part(r, "pack"); }},
    {"compile_upload_s", "s", Better::lower, "of compile_s: copying weights and kernels to the device",
     [](const Record& r) { return part(r, "upload"); }},
    {"compile_graph_s", "s", Better::lower, "of compile_s: memory, streams and CUDA graphs of the slots",
     [](const Record& r) { return part(r, "graph"); }},
    {"first_result_ms", "ms", Better::lower, "latency of the very first query after loading",
     [](const Record& r) { return once(r.first_result_ms); }},
    {"warm_up_s", "s", Better::neither, "length of the warm-up before the measured window",
     [](const Record& r) { return once(window_seconds(r, "warm_up")); }},
    {"steady_s", "s", Better::neither, "length of the measured (steady) window",
     [](const Record& r) { return once(window_seconds(r, "steady")); }},
});

}  // namespace
}  // namespace deepgap
