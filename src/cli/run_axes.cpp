#include "cli/run_axes.h"

#include "base/registry.h"
#include "scenario/scenario.h"
#include "worker/point_options.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

constexpr AxisFlag axes[] = {
    {"-m,--model,--onnx", "model", "Zoo name (deepgap models) or ONNX file; a list makes an axis, as with all flags of this group"},
    {"-e,--backend", "backend", "Engine (deepgap backends)"},
    {"-d,--device", "device",
     "cpu, cuda:0; cuda:0+cuda:1 is one point on two devices; http://host:port and grpc://host:port are servers (docs/remote.md)"},
    {"-p,--precision", "precision", "fp32, ..."},
    {"-b,--batch,--batch-size", "batch", "Samples a query: 1,2,4 or 1..512*2"},
    {"-s,--scenario", "scenario", "How load is offered; they are listed below"},
    {"--rate", "rate", "Queries a second that are offered: server, constant, bursty"},
    {"--clients", "clients", "Clients that each wait for their answer: concurrency"},
    {"--trace", "trace", "File of arrival times: trace"},
    {"--reference", "reference", "ONNX file of the model that a server has, which its outputs are compared with (docs/remote.md)"},
    {"--bound", "bound", "Percentile of latency that a valid result holds: p99=15ms"},
    {"--dataset", "dataset", "seeded, zeros, pictures, crops, or a path"},
    {"--labels", "labels", "File of the dataset's labels, for accuracy_top1 and accuracy_top5 (docs/datasets.md)"},
    {"-w,--weights", "weights", "seeded, a named set (imagenet), or a safetensors file"},
    {"-t,--threads", "threads", "Of the engine; 0 or left out: the CPUs allowed here"},
    {"--streams", "streams", "Queries that a session can hold at a time"},
    {"--processes", "processes", "Processes that measure together, each on its share of the devices"},
    {"--instances", "instances", "Sessions on each device"},
    {"--max-batch", "max_batch", "Most samples that are joined to one batch (docs/dispatcher.md)"},
    {"--max-delay", "max_delay", "How long a query may wait for its batch to fill: 2ms"},
    {"--queue-limit", "queue_limit", "Queries that may wait for a session"},
    {"--shed", "shed", "Who goes when the queue is full: none, reject-newest, drop-oldest"},
    {"--end-to-end", "end_to_end", "off, serial, overlapped: queries begin with picture files that are decoded first (docs/end-to-end.md)"},
    {"--decode-threads", "decode_threads", "Threads that decode, end to end"},
    {"--mlperf", "mlperf", "MLPerf run by a round's seeds and rules: v5.0, v5.1, v6.0, v6.1; --rate is its target_qps (docs/mlperf.md)"},
    {"--mlperf-mode", "mlperf_mode", "performance, accuracy, or submission: both"},
    {"--mlperf-test", "mlperf_test", "TEST01 or TEST04 of MLPerf's audit"},
    {"--task", "task", "infer, or train: steps of forward, loss, backward and update (docs/training.md)"},
    {"--optimizer", "optimizer", "task train: sgd, momentum, adam, adamw"},
    {"--learning-rate", "learning_rate", "task train: of the optimizer"},
    {"--weight-decay", "weight_decay", "task train: of the optimizer"},
    {"--loss", "loss", "task train: cross-entropy, mse"},
    {"--loss-scale", "loss_scale", "task train: auto, off, or a number"},
    {"--accumulation", "accumulation", "task train: parts of a batch whose gradients are added up before the update"},
    {"--isa", "isa", "Most that the native engine may use: auto, avx2, avx512, avx512_vnni, avx512_bf16, amx"},
};

}  // namespace

std::span<const AxisFlag> run_axes() { return axes; }

std::string axis_help() {
  std::string text = "Options for --axis, besides those of the engine (deepgap backends) and of the scenario:\n";
  for (const OptionInfo& option : worker_options()) text += fmt::format("  {:<21} {}\n", option.name, option.describe);
  text += "NAME.OPTION=LIST is for engine NAME alone.\n\nScenarios and their options (docs/load.md):\n";
  const auto& scenarios = Registry<Scenario>::instance();
  for (const std::string& name : scenarios.names()) {
    const auto scenario = scenarios.make("scenario", name);
    text += fmt::format("  {:<21} {}\n", name, scenario->describe());
    for (const ScenarioOption& option : scenario->options()) {
      text += fmt::format("    {:<19} {}{}\n", option.name, option.describe,
                          option.default_value.empty() ? "" : fmt::format(" ({})", option.default_value));
    }
  }
  return text;
}

}  // namespace deepgap
