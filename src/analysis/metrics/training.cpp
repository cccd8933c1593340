// Steps of training: how many, how long, what they hold, and the loss that the last one had. None of them is of a Point of task infer.
#include "analysis/metric.h"
#include "analysis/steady.h"
#include "record/fact_values.h"

#include <algorithm>

namespace deepgap {
namespace {

// Seconds of the measured window for each step that was finished in it. Several processes make a step together.
std::optional<Estimate> seconds_per_step(const Record& record) {
  const auto seconds = window_seconds(record, "steady");
  const auto timed = static_cast<int64_t>(record.timings.size()) + record.timings_dropped;
  if (record.point.task != Task::train || record.outcome != Outcome::ok || !seconds || timed == 0) return std::nullopt;
  const double steps = static_cast<double>(timed) / std::max(record.point.placement.processes, 1);
  return Estimate{*seconds / steps, {}, {}, timed};
}

std::optional<Estimate> step_ms(const Record& record) {
  auto step = seconds_per_step(record);
  if (step) step->value *= 1e3;
  return step;
}

std::optional<Estimate> steps_per_s(const Record& record) {
  auto step = seconds_per_step(record);
  if (step) step->value = 1 / step->value;
  return step;
}

// Multiplies a number per item, counted on the Graph, by the items of a whole step.
std::optional<Estimate> of_step(const Record& record, int64_t per_item) {
  if (record.point.task != Task::train || record.outcome != Outcome::ok || per_item < 0) return std::nullopt;
  return Estimate{static_cast<double>(per_item) * static_cast<double>(record.point.batch) / 1e9, {}, {}, 1};
}

std::optional<Estimate> held(const Record& record, const std::string& kind) {
  const int64_t* bytes = fact_as<int64_t>(record.facts, "train.memory." + kind + "_bytes");
  return bytes == nullptr ? std::nullopt : std::optional(Estimate{static_cast<double>(*bytes) / (1 << 20), {}, {}, 1});
}

// Averaging all gradients with nothing beside it, as it was timed while the engine loaded.
std::optional<Estimate> allreduce_alone_ms(const Record& record) {
  const double* seconds = fact_as<double>(record.facts, "compile.allreduce_alone_s");
  return seconds == nullptr ? std::nullopt : std::optional(Estimate{*seconds * 1e3, {}, {}, 1});
}

// Returns the share of the all-reduce time that a step does not wait for.
std::optional<Estimate> allreduce_hidden_share(const Record& record) {
  const auto alone = allreduce_alone_ms(record), waited = left_by_worker(record, "allreduce_ms");
  if (!alone || !waited || alone->value <= 0) return std::nullopt;
  const auto hidden = [&](double ms) { return std::clamp(1 - ms / alone->value, 0.0, 1.0); };
  Estimate share{hidden(waited->value), {}, {}, waited->n};
  if (waited->low && waited->high) {
    share.low = hidden(*waited->high);
    share.high = hidden(*waited->low);
  }
  return share;
}

Metric part_of_step(const std::string& id, const std::string& describe) {
  return {id, "ms", Better::lower, "training: " + describe + ", mean over the steps, by the engine's marks",
          [id](const Record& record) { return left_by_worker(record, id); }};
}

Metric memory(const std::string& kind, const std::string& describe) {
  return {kind + "_mib", "MiB", Better::lower, "training: " + describe, [kind](const Record& record) { return held(record, kind); }};
}

const bool registered = register_metrics({
    {"steps_per_s", "1/s", Better::higher, "training: steps finished in the measured window, divided by its length", steps_per_s},
    {"step_ms", "ms", Better::lower, "training: length of the measured window divided by the steps finished in it", step_ms},
    part_of_step("forward_ms", "forward pass and loss"),
    part_of_step("backward_ms", "backward pass"),
    part_of_step("allreduce_ms", "time to average the gradients over all processes, after the backward pass"),
    {"allreduce_alone_ms", "ms", Better::lower, "training: time to average all gradients over all processes, with nothing beside it",
     allreduce_alone_ms},
    {"allreduce_hidden_share", "1", Better::higher,
     "training: of allreduce_alone_ms the share that a step does not wait for after its backward pass (allreduce_ms)",
     allreduce_hidden_share},
    part_of_step("update_ms", "update of the weights by the optimizer"),
    {"step_gflop", "GFLOP", Better::neither,
     "training: work of a step counted on the Graph: forward, backward and update (docs/reference/engines/libtorch.md)",
     [](const Record& record) { return of_step(record, record.flop_per_item); }},
    {"step_gb", "GB", Better::neither, "training: bytes that a step moves, counted on the Graph",
     [](const Record& record) { return of_step(record, record.bytes_per_item); }},
    {"final_loss", "1", Better::lower, "training: loss of the last step of the measured window",
     [](const Record& record) { return left_by_worker(record, "final_loss"); }},
    memory("weights", "weights and running statistics"),
    memory("gradients", "gradients of the weights"),
    memory("optimizer_state", "what the optimizer keeps of earlier steps"),
    memory("activations", "what the forward pass of a step leaves for its backward pass, as the engine's allocator counts it"),
});

}  // namespace
}  // namespace deepgap
