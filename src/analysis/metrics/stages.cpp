// Stages of an end-to-end query, from its submission to its answer; the worker leaves the means in the Record.
#include "analysis/metric.h"
#include "analysis/steady.h"
#include "analysis/throughput.h"
#include "record/fact_values.h"

#include <array>

namespace deepgap {
namespace {

struct StageText {
  const char *name, *describe;
};
constexpr std::array<StageText, 8> stages{{
    {"wait_decode", "waited for free buffers and a thread to decode its first sample"},
    {"read", "took to read its samples' files"},
    {"decode", "took to decode its samples to pixels"},
    {"preprocess", "took to resize, crop and scale its samples to the network's input"},
    {"wait_infer", "waited for the session once its samples were ready, and was handed over"},
    {"copy_in", "took to copy its inputs to the device, by the engine's marks"},
    {"compute", "computed, by the engine's marks; without marks all its time in the session"},
    {"copy_out", "took to copy its outputs back, by the engine's marks"},
}};

std::string stage_id(const StageText& stage, const std::string& unit) { return std::string("stage_") + stage.name + "_" + unit; }

// Returns the stage's share of the time of all stages.
std::optional<Estimate> stage_share(const Record& record, const StageText& asked) {
  double all = 0;
  for (const StageText& stage : stages) {
    const auto ms = left_by_worker(record, stage_id(stage, "ms"));
    if (!ms) return std::nullopt;
    all += ms->value;
  }
  const auto ms = left_by_worker(record, stage_id(asked, "ms"));
  return all > 0 ? std::optional(Estimate{ms->value / all, {}, {}, ms->n}) : std::nullopt;
}

std::optional<Estimate> decode_busy_share(const Record& record) {
  const auto per_item = left_by_worker(record, "prepare_ms_per_item");
  const auto throughput = steady_throughput(record);
  const auto* threads = fact_as<int64_t>(record.facts, "end_to_end.decode_threads");
  if (!per_item || !throughput || threads == nullptr || *threads < 1) return std::nullopt;
  return Estimate{per_item->value / 1e3 * throughput->value / static_cast<double>(*threads), {}, {}, per_item->n};
}

std::vector<Metric> family() {
  std::vector<Metric> metrics;
  for (const StageText& stage : stages) {
    const std::string id = stage_id(stage, "ms"), describe = stage.describe;
    metrics.push_back({id, "ms", Better::lower, "end to end: mean time that a query " + describe,
                       [id](const Record& record) { return left_by_worker(record, id); }});
    metrics.push_back({stage_id(stage, "share"), "1", Better::neither,
                       "end to end: " + id + " over the time of all stages, from a query's submission to its answer",
                       [stage](const Record& record) { return stage_share(record, stage); }});
  }
  metrics.push_back({"prepare_ms_per_item", "ms", Better::lower,
                     "end to end: mean time that a thread took to read, decode and preprocess a sample",
                     [](const Record& record) { return left_by_worker(record, "prepare_ms_per_item"); }});
  metrics.push_back({"decode_busy_share", "1", Better::neither, "end to end: share of the decoding threads' time in which they worked",
                     decode_busy_share});
  return metrics;
}

const bool registered = register_metrics(family());

}  // namespace
}  // namespace deepgap
