#include "cli/other_tools.h"

#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

using Words = std::vector<std::string>;

[[noreturn]] void fail(const std::string& cause) { throw Error(ErrorKind::usage, cause); }

bool is_number(const std::string& text) { return parse_double(text).has_value(); }

Words least_seconds(const std::string& value) { return {"--min-duration", is_number(value) ? value + "s" : value}; }

// Google Benchmark's "2s", "0.5" or "10x".
Words min_time(const std::string& value) {
  if (value.ends_with('x')) return {"--iterations", value.substr(0, value.size() - 1)};
  return least_seconds(value);
}

Words console_format(const std::string& value) {
  if (value == "console") return {};
  if (value == "json") return {"--json"};
  fail(fmt::format("invalid value '{}' for --benchmark_format: expected console or json; deepgap export STORE --output FILE.csv writes CSV",
                   value));
}

// nvbench's "0,2" as "cuda:0,cuda:2".
Words devices(const std::string& value) {
  Words named;
  for (const std::string& part : split(value, ',')) {
    if (!parse_int(trim(part)))
      fail(fmt::format("invalid value '{}' for --devices: expected numbers of GPUs such as 0,1; deepgap devices lists them", value));
    named.push_back("cuda:" + trim(part));
  }
  return {"--device", join(named, ",")};
}

constexpr TheirFlag flags[] = {
    // hyperfine
    {"--min-benchmarking-time", true, [](const std::string& value, const OtherWords&) { return least_seconds(value); }},
    {"--command-name", true,
     [](const std::string& value, const OtherWords&) {
       return Words{"--study", value};
     }},
    {"--show-elapsed", false, [](const std::string&, const OtherWords&) { return Words(); }},  // as it is here
    // nvbench
    {"--min-time", true, [](const std::string& value, const OtherWords&) { return least_seconds(value); }},
    {"--devices", true, [](const std::string& value, const OtherWords&) { return devices(value); }},
    {"--run-once", false,
     [](const std::string&, const OtherWords&) {
       return Words{"--warmup", "0", "--iterations", "1"};
     }},
    {"--cold-warmup-runs", true,
     [](const std::string& value, const OtherWords&) {
       return Words{"--warmup", value};
     }},
    // Google Benchmark
    {"--benchmark_repetitions", true,
     [](const std::string& value, const OtherWords&) {
       return Words{"--repeats", value};
     }},
    {"--benchmark_min_time", true, [](const std::string& value, const OtherWords&) { return min_time(value); }},
    {"--benchmark_format", true, [](const std::string& value, const OtherWords&) { return console_format(value); }},
    {"--benchmark_out", true,
     [](const std::string& value, const OtherWords&) {
       return Words{"--export-json", value};
     }},
    {"--benchmark_dry_run", false, [](const std::string&, const OtherWords&) { return Words{"--dry-run"}; }},
    {"--benchmark_enable_random_interleaving", false, [](const std::string&, const OtherWords&) { return Words(); }},  // as it is here
    {"--benchmark_report_aggregates_only", false, [](const std::string&, const OtherWords&) { return Words(); }},      // likewise
    {"--benchmark_display_aggregates_only", false, [](const std::string&, const OtherWords&) { return Words(); }},     // likewise
    {"--benchmark_counters_tabular", false, [](const std::string&, const OtherWords&) { return Words(); }},            // likewise
    // llama-bench
    {"--repetitions", true,
     [](const std::string& value, const OtherWords&) {
       return Words{"--repeats", value};
     }},
    {"--no-warmup", false,
     [](const std::string&, const OtherWords&) {
       return Words{"--warmup", "0"};
     }},
};

constexpr std::string_view tokens =
    "use --prompt-tokens N and --output-tokens N for generation, and --shape INPUT:1x512 for one forward pass";
constexpr std::string_view whole_device = "deepgap places the whole model on one device: --device cuda:0";
constexpr std::string_view engine_option = "use an option of the engine: --axis NAME=VALUE (deepgap backends lists them)";
constexpr std::string_view other_command = "deepgap starts each repeat in a new process and runs no other command";
constexpr std::string_view steady_clocks = "deepgap does not set clocks; each record has them, and throttled results are marked";
constexpr std::string_view interval = "use --interval 1%, which measures until the 95 % interval is that narrow";

constexpr TheirAnswer answers[] = {
    {"--min-runs", "hyperfine", "use --repeats N, and --interval 1% for each"},
    {"--max-runs", "hyperfine", "use --repeats N, and --budget TIME for each"},
    {"-M", "hyperfine", "use --repeats N, and --budget TIME for each"},
    {"--parameter-list", "hyperfine", "use --axis NAME=A,B,C"},
    {"-L", "hyperfine", "use --axis NAME=A,B,C"},
    {"--parameter-scan", "hyperfine", "use --axis NAME=1..8+1"},
    {"-P", "hyperfine", "use --axis NAME=1..8+1"},
    {"--parameter-step-size", "hyperfine", "use a range with a step: --axis NAME=1..8+2"},
    {"-D", "hyperfine", "use a range with a step: --axis NAME=1..8+2"},
    {"--setup", "hyperfine", other_command},
    {"--cleanup", "hyperfine", other_command},
    {"--conclude", "hyperfine", other_command},
    {"--prepare", "hyperfine", other_command},
    {"--shell", "hyperfine", other_command},
    {"-S", "hyperfine", other_command},
    {"-N", "hyperfine", other_command},
    {"-C", "hyperfine", other_command},
    {"--input", "hyperfine", "use --dataset seeded, zeros or a path"},
    {"--output", "hyperfine", "use --export-json FILE, or --json to print for programs"},
    {"--show-output", "hyperfine", "use -v, which shows the last output of failed workers"},
    {"--ignore-failure", "hyperfine", "leave it out: a failure is a record, and the run continues"},
    {"--style", "hyperfine", "leave it out: -q hides the progress, and --json prints for programs"},
    {"--sort", "hyperfine", "leave it out: the table keeps the order of the flags, and a report sorts its tables"},
    {"--time-unit", "hyperfine", "leave it out: every column names its unit"},
    {"--export-csv", "hyperfine", "use deepgap export STORE --output FILE.csv"},
    {"--export-markdown", "hyperfine", "use deepgap report STORE --output FILE.md"},
    {"--export-asciidoc", "hyperfine", "use deepgap report STORE --output FILE.md"},
    {"--export-orgmode", "hyperfine", "use deepgap report STORE --output FILE.md"},
    {"-E", "hyperfine", "leave it out: the progress shows the time left"},
    {"--version", "hyperfine and nvbench", "use deepgap --version"},
    {"--help-axes", "nvbench", "use deepgap run --help, which lists the axes"},
    {"--help-axis", "nvbench", "use deepgap run --help, which lists the axes"},
    {"--jsonlist-benches", "nvbench", "use deepgap models, and deepgap backends for the engines"},
    {"--jsonlist-devices", "nvbench", "use deepgap devices --json"},
    {"--batch-target-time", "nvbench", "leave it out: deepgap times each query by itself"},
    {"--list", "nvbench", "use deepgap models, and deepgap backends for the engines"},
    {"--benchmark", "nvbench", "use --model NAME,NAME"},
    {"--csv", "nvbench", "use deepgap export STORE --output FILE.csv"},
    {"--jsonbin", "nvbench", "use --export-timings FILE, with a row for each query"},
    {"--markdown", "nvbench", "use deepgap report STORE --output FILE.md"},
    {"--md", "nvbench", "use deepgap report STORE --output FILE.md"},
    {"--color", "nvbench", "leave it out: the output has no colours"},
    {"--lock-gpu-clocks", "nvbench", steady_clocks},
    {"--lgc", "nvbench", steady_clocks},
    {"--persistence-mode", "nvbench", "use nvidia-smi; deepgap doctor shows whether persistence mode is on"},
    {"--pm", "nvbench", "use nvidia-smi; deepgap doctor shows whether persistence mode is on"},
    {"--stopping-criterion", "nvbench", "use one of --interval 1%, --duration TIME and --iterations N"},
    {"--max-noise", "nvbench", interval},
    {"--min-samples", "nvbench", "use --iterations N, the number of queries, or --min-duration TIME"},
    {"--target-samples", "nvbench", "use --iterations N"},
    {"--max-angle", "nvbench", interval},
    {"--min-r2", "nvbench", interval},
    {"--skip-time", "nvbench", "deepgap measures each point; [[grid.skip]] in a study file leaves points out"},
    {"--throttle-threshold", "nvbench", steady_clocks},
    {"--throttle-recovery-delay", "nvbench", steady_clocks},
    {"--cold-max-warmup-walltime", "nvbench", "use the study key warmup_budget, and --warmup N counts queries"},
    {"--no-batch", "nvbench", "leave it out: deepgap times each query by itself"},
    {"--disable-blocking-kernel", "nvbench", "leave it out: no kernel blocks the stream"},
    {"--benchmark_filter", "Google Benchmark", "use --model NAME,NAME"},
    {"--benchmark_list_tests", "Google Benchmark", "use deepgap models, and deepgap backends for the engines"},
    {"--benchmark_min_warmup_time", "Google Benchmark",
     "deepgap warms up until times are steady; leave it out, or count queries with --warmup N"},
    {"--benchmark_out_format", "Google Benchmark", "use --export-json FILE, or deepgap export STORE --output FILE.csv"},
    {"--v", "Google Benchmark", "use -v"},
    {"--benchmark_color", "Google Benchmark", "leave it out: the output has no colours"},
    {"--benchmark_context", "Google Benchmark", "use deepgap tag STORE, which marks the records of a run"},
    {"--benchmark_perf_counters", "Google Benchmark", "use deepgap profile MODEL"},
    {"--benchmark_time_unit", "Google Benchmark", "leave it out: every column names its unit"},
    {"--n-gen-warmup", "llama-bench", "deepgap warms up until times are steady; leave it out, or count queries with --warmup N"},
    {"--offline", "llama-bench", "leave it out: deepgap run downloads no models"},
    {"-dt", "llama-bench", engine_option},
    {"--defrag-thold", "llama-bench", engine_option},
    {"-nr", "llama-bench", engine_option},
    {"--no-repack", "llama-bench", engine_option},
    {"--repack", "llama-bench", engine_option},
    {"--moe-cache", "llama-bench", engine_option},
    {"-lzm", "llama-bench", "leave it out: deepgap reads models before timing"},
    {"--lazy-mode", "llama-bench", "leave it out: deepgap reads models before timing"},
    {"-rpc", "llama-bench", "use --backend kserve --device http://HOST:PORT, of a model server"},
    {"--n-prompt", "llama-bench", tokens},
    {"--n-gen", "llama-bench", tokens},
    {"--n-depth", "llama-bench", tokens},
    {"-pg", "llama-bench", tokens},
    {"-ub", "llama-bench", "use --batch N; deepgap computes a batch at once"},
    {"--ubatch-size", "llama-bench", "use --batch N; deepgap computes a batch at once"},
    {"-ctk", "llama-bench", "use --precision, which is that of the whole model"},
    {"-ctv", "llama-bench", "use --precision, which is that of the whole model"},
    {"--cache-type-k", "llama-bench", "use --precision, which is that of the whole model"},
    {"--cache-type-v", "llama-bench", "use --precision, which is that of the whole model"},
    {"-ngl", "llama-bench", whole_device},
    {"--n-gpu-layers", "llama-bench", whole_device},
    {"-ncmoe", "llama-bench", whole_device},
    {"--n-cpu-moe", "llama-bench", whole_device},
    {"-sm", "llama-bench", whole_device},
    {"--split-mode", "llama-bench", whole_device},
    {"-mg", "llama-bench", whole_device},
    {"--main-gpu", "llama-bench", whole_device},
    {"-ts", "llama-bench", whole_device},
    {"--tensor-split", "llama-bench", whole_device},
    {"-ot", "llama-bench", whole_device},
    {"--override-tensor", "llama-bench", whole_device},
    {"-dev", "llama-bench", "use --device cpu or cuda:0; deepgap devices lists them"},
    {"--list-devices", "llama-bench", "use deepgap devices"},
    {"-fa", "llama-bench", engine_option},
    {"--flash-attn", "llama-bench", engine_option},
    {"-nkvo", "llama-bench", engine_option},
    {"--no-kv-offload", "llama-bench", engine_option},
    {"-nopo", "llama-bench", engine_option},
    {"--no-op-offload", "llama-bench", engine_option},
    {"-embd", "llama-bench", "deepgap computes the outputs that the model has"},
    {"--embeddings", "llama-bench", "deepgap computes the outputs that the model has"},
    {"-mmp", "llama-bench", "leave it out: deepgap reads models before timing"},
    {"--mmap", "llama-bench", "leave it out: deepgap reads models before timing"},
    {"--numa", "llama-bench", "use --axis affinity=near or far, or a list of CPUs"},
    {"--cpu-mask", "llama-bench", "use --axis affinity=0-3, a list of CPUs"},
    {"--cpu-strict", "llama-bench", "use --axis affinity=0-3, a list of CPUs"},
    {"--poll", "llama-bench", engine_option},
    {"--prio", "llama-bench", "deepgap does not change priorities; deepgap doctor shows what disturbs"},
    {"--delay", "llama-bench", "use --scenario constant --rate N"},
    {"--rpc", "llama-bench", "use --backend kserve --device http://HOST:PORT, of a model server"},
    {"-oe", "llama-bench", "use --export-json FILE, and progress goes to standard error"},
    {"--output-err", "llama-bench", "use --export-json FILE, and progress goes to standard error"},
};

}  // namespace

std::span<const TheirFlag> flags_of_benchmark_tools() { return flags; }
std::span<const TheirAnswer> answers_to_benchmark_tools() { return answers; }

}  // namespace deepgap
