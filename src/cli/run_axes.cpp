#include "cli/run_axes.h"

#include "base/registry.h"
#include "scenario/scenario.h"
#include "worker/point_options.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

constexpr AxisFlag axes[] = {
    {"-m,--model,--onnx", "model",
     "Models: zoo names (deepgap models), ONNX or GGUF files. A list makes an axis, as for all flags of this group"},
    {"-e,--backend", "backend", "Engines (see deepgap backends) [default: native]"},
    {"-d,--device", "device",
     "Devices: cpu, cuda:0; cuda:0+cuda:1 is one point on two devices; http://host:port and grpc://host:port are servers [default: cpu]"},
    {"-p,--precision", "precision", "Precisions: fp32, tf32, bf16, fp16, mixed, fp8, int8 [default: fp32]"},
    {"-b,--batch,--batch-size", "batch", "Samples per query: 1,2,4 or 1..512*2 [default: 1]"},
    {"-s,--scenario", "scenario", "Scenario: how load is offered, see the list below [default: batch]"},
    {"--rate", "rate", "Offered queries a second: server, constant, bursty"},
    {"--clients", "clients", "Clients that each wait for their answer: concurrency"},
    {"--trace", "trace", "File of arrival times: trace"},
    {"--reference", "reference", "ONNX file of a server's model, to compare its outputs with"},
    {"--bound,--slo", "bound", "Latency SLO that a valid result meets: p99=15ms; of generation also ttft.p99=500ms,tpot.p99=50ms"},
    {"--dataset,--prompts", "dataset",
     "Dataset: for generation a file of prompts (.txt, .jsonl, .json, .csv); else seeded, zeros, pictures, crops, or a path [default: "
     "seeded]"},
    {"--labels", "labels", "File of the dataset's labels, for accuracy_top1 and accuracy_top5"},
    {"-w,--weights", "weights", "Weights: seeded, a named set (imagenet), or a safetensors file [default: seeded]"},
    {"-t,--threads", "threads", "Engine threads [default: all allowed CPUs]"},
    {"--streams", "streams", "Queries that a session can process at the same time [default: 1]"},
    {"--processes", "processes", "Processes that measure together, each on its share of the devices [default: 1]"},
    {"--instances", "instances", "Sessions on each device [default: 1]"},
    {"--max-batch", "max_batch", "Samples to join into one batch at most [default: the batch]"},
    {"--max-delay", "max_delay", "Time that a query may wait for its batch to fill: 2ms [default: 0]"},
    {"--queue-limit", "queue_limit", "Queries that may wait for a session"},
    {"--shed", "shed", "Policy when the queue is full: none, reject-newest, drop-oldest [default: none]"},
    {"--end-to-end", "end_to_end", "Decode image files in each query: off, serial, overlapped [default: off]"},
    {"--decode-threads", "decode_threads", "Threads that decode images"},
    {"--mlperf", "mlperf", "Run by the seeds and rules of an MLPerf round: v5.0, v5.1, v6.0, v6.1; --rate is its target_qps"},
    {"--mlperf-mode", "mlperf_mode", "MLPerf mode: performance, accuracy, or submission (both)"},
    {"--mlperf-test", "mlperf_test", "MLPerf audit test: TEST01 or TEST04"},
    {"--task", "task", "Task: infer, train (forward, loss, backward and update), or generate (tokens) [default: infer; openai: generate]"},
    {"--prompt-tokens", "prompt_tokens",
     "Length of made-up prompts: 512, uniform:LOW:HIGH, lognormal:MEDIAN:SIGMA, file:PATH [default: 512]"},
    {"--output-tokens", "output_tokens", "Length of answers at most, likewise [default: as the prompts' file says; else 128]"},
    {"--shared-prefix-tokens", "shared_prefix_tokens", "Tokens that all made-up prompts begin with [default: 0]"},
    {"--prompt-reuse", "prompt_reuse", "Send the same prompts again, to measure a prefix cache: on, off [default: off]"},
    {"--optimizer", "optimizer", "Optimizer for training: sgd, momentum, adam, adamw [default: momentum]"},
    {"--learning-rate", "learning_rate", "Learning rate for training [default: 0.01; adam and adamw: 0.001]"},
    {"--weight-decay", "weight_decay", "Weight decay for training [default: 0; adamw: 0.01]"},
    {"--loss", "loss", "Loss for training: cross-entropy, mse [default: cross-entropy]"},
    {"--loss-scale", "loss_scale", "Loss scale for training: auto, off, or a number [default: auto]"},
    {"--accumulation", "accumulation", "Parts of a training batch whose gradients are added before the update [default: 1]"},
    {"--isa", "isa",
     "Newest instruction set that the native engine may use: auto, avx2, avx512, avx512_vnni, avx512_bf16, amx [default: auto]"},
};

}  // namespace

std::span<const AxisFlag> run_axes() { return axes; }

std::string axis_help() {
  const auto default_of = [](const std::string& value) { return value.empty() ? "" : fmt::format(" [default: {}]", value); };
  std::string text = "Options for --axis, besides those of the engine (deepgap backends) and of the scenario:\n";
  for (const OptionInfo& option : worker_options())
    text += fmt::format("  {:<21}  {}{}\n", option.name, option.describe, default_of(option.default_value));
  text += "NAME.OPTION=LIST applies to engine NAME only.\n\nScenarios and their options:\n";
  const auto& scenarios = Registry<Scenario>::instance();
  for (const std::string& name : scenarios.names()) {
    const auto scenario = scenarios.make("scenario", name);
    text += fmt::format("  {:<21}  {}\n", name, scenario->describe());
    for (const ScenarioOption& option : scenario->options()) {
      text += fmt::format("    {:<19}  {}{}\n", option.name, option.describe, default_of(option.default_value));
    }
  }
  return text;
}

}  // namespace deepgap
