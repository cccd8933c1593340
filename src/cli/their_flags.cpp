#include "cli/other_tools.h"

#include <deepgap/error.h>

namespace deepgap {
namespace {

using Words = std::vector<std::string>;

Words clients(const std::string& value, const OtherWords& others) { return with_scenario("concurrency", others, {"--clients", value}); }

Words request_rate(const std::string& value, const OtherWords& others) {
  if (value == "inf")
    throw Error(ErrorKind::usage, "invalid value 'inf' for --request-rate: use --scenario burst, or --scenario offline for the throughput");
  return with_scenario("server", others, {"--rate", value});
}

constexpr TheirFlag rarer_flags[] = {
    // perf_analyzer
    {"--request-count", true,
     [](const std::string& value, const OtherWords&) {
       return Words{"--iterations", value};
     }},
    {"--warmup-request-count", true,
     [](const std::string& value, const OtherWords&) {
       return Words{"--warmup", value};
     }},
    {"--metrics-url", true,
     [](const std::string& value, const OtherWords&) {
       return Words{"--axis", "metrics=" + value};
     }},
    {"--zero-input", false,
     [](const std::string&, const OtherWords&) {
       return Words{"--dataset", "zeros"};
     }},
    // genai-perf, AIPerf and the serving benchmarks of vLLM and SGLang
    {"--num-prompts", true,
     [](const std::string& value, const OtherWords&) {
       return Words{"--iterations", value};
     }},
    {"--num-requests", true,
     [](const std::string& value, const OtherWords&) {
       return Words{"--iterations", value};
     }},
    {"--warmup-requests", true,
     [](const std::string& value, const OtherWords&) {
       return Words{"--warmup", value};
     }},
    {"--isl", true,
     [](const std::string& value, const OtherWords&) {
       return Words{"--prompt-tokens", value};
     }},
    {"--random-input-len", true,
     [](const std::string& value, const OtherWords&) {
       return Words{"--prompt-tokens", value};
     }},
    {"--synthetic-input-tokens-mean", true,
     [](const std::string& value, const OtherWords&) {
       return Words{"--prompt-tokens", value};
     }},
    {"--osl", true,
     [](const std::string& value, const OtherWords&) {
       return Words{"--output-tokens", value};
     }},
    {"--random-output-len", true,
     [](const std::string& value, const OtherWords&) {
       return Words{"--output-tokens", value};
     }},
    {"--output-tokens-mean", true,
     [](const std::string& value, const OtherWords&) {
       return Words{"--output-tokens", value};
     }},
    {"--concurrency", true, [](const std::string& value, const OtherWords& others) { return clients(value, others); }},
    {"--max-concurrency", true, [](const std::string& value, const OtherWords& others) { return clients(value, others); }},
    {"--request-rate", true, [](const std::string& value, const OtherWords& others) { return request_rate(value, others); }},
    {"--ignore-eos", false, [](const std::string&, const OtherWords&) { return Words(); }},  // as it is here
};

constexpr std::string_view one_shape = "deepgap measures one shape at a time: --shape INPUT:1x3x224x224";
constexpr std::string_view whole_precision =
    "use --precision, which is that of the whole model; deepgap check --nodes shows the error of each node";
constexpr std::string_view compiled_anew = "leave it out: deepgap compiles the model in each run, before timing";
constexpr std::string_view custom_operators = "use --axis onnxruntime.custom_ops=FILE, of ONNX Runtime";
constexpr std::string_view engine_option = "use an option of the engine: --axis NAME=VALUE (deepgap backends lists them)";
constexpr std::string_view no_dla = "deepgap has no engine for DLA; deepgap devices lists what can be measured";
constexpr std::string_view written_outputs = "use deepgap check MODEL --outputs FOLDER";
constexpr std::string_view no_memory_limit = "deepgap does not limit memory; the record has how much an engine used";
constexpr std::string_view by_address = "use --backend kserve or openai with --device http://HOST:PORT";
constexpr std::string_view by_endpoint = "use --axis endpoint=chat or completions, of openai";
constexpr std::string_view no_sequences = "deepgap's queries do not depend on each other, and kserve sends no sequence ids";
constexpr std::string_view by_tls = "use --device https://HOST:PORT and --axis ca_file=FILE; certificates are always verified";
constexpr std::string_view server_traces = "leave it out: --axis metrics=URL reads the server's metrics, and kserve its statistics";
constexpr std::string_view no_texts = "kserve does not measure models with text inputs (BYTES); openai measures token generation";
constexpr std::string_view by_threads = "use --threads N, or --axis onnxruntime.NAME=VALUE (deepgap backends lists the options)";
constexpr std::string_view by_provider = "use --backend onnxruntime --device cpu or cuda:0";
constexpr std::string_view free_sizes = "use --shape INPUT:1x3x224x224, or --batch N for the batch";
constexpr std::string_view by_file = "give deepgap the model as a file: --model FILE.gguf, or a server with --backend openai";

constexpr TheirAnswer rarer_answers[] = {
    {"--minShapesCalib", "trtexec", one_shape},
    {"--optShapesCalib", "trtexec", one_shape},
    {"--maxShapesCalib", "trtexec", one_shape},
    {"--profile", "trtexec", one_shape},
    {"--useProfile", "trtexec", one_shape},
    {"--dumpOptimizationProfile", "trtexec", one_shape},
    {"--explicitBatch", "trtexec", "leave it out: the batch is that of the model, or --batch N"},
    {"--maxBatch", "trtexec", "use --batch N, or --max-batch N to join queries"},
    {"--int4", "trtexec", "quantize the model's weights; deepgap runs files with INT4 weights as they are"},
    {"--stronglyTyped", "trtexec", "leave it out: types are those of the file, where it is quantized"},
    {"--precisionConstraints", "trtexec", whole_precision},
    {"--layerPrecisions", "trtexec", whole_precision},
    {"--layerOutputTypes", "trtexec", whole_precision},
    {"--layerDeviceTypes", "trtexec", no_dla},
    {"--useDLACore", "trtexec", no_dla},
    {"--allowGPUFallback", "trtexec", no_dla},
    {"--buildDLAStandalone", "trtexec", no_dla},
    {"--profilingVerbosity", "trtexec", "use deepgap profile MODEL"},
    {"--minTiming", "trtexec", "use --axis tune=full, an option of native on a GPU"},
    {"--avgTiming", "trtexec", "use --axis tune=full, an option of native on a GPU"},
    {"--heuristic", "trtexec", "use --axis tune=full, an option of native on a GPU"},
    {"--maxTactics", "trtexec", "use --axis tune=full, an option of native on a GPU"},
    {"--tilingOptimizationLevel", "trtexec", "use --axis tune=full, an option of native on a GPU"},
    {"--l2LimitForTiling", "trtexec", engine_option},
    {"--tacticSources", "trtexec", engine_option},
    {"--preview", "trtexec", engine_option},
    {"--maxAuxStreams", "trtexec", engine_option},
    {"--sparsity", "trtexec", engine_option},
    {"--directIO", "trtexec", engine_option},
    {"--persistentCacheRatio", "trtexec", engine_option},
    {"--exposeDMA", "trtexec", engine_option},
    {"--useManagedMemory", "trtexec", engine_option},
    {"--cudaGraph", "trtexec", engine_option},
    {"--refit", "trtexec", compiled_anew},
    {"--timeRefit", "trtexec", compiled_anew},
    {"--dumpRefit", "trtexec", compiled_anew},
    {"--stripWeights", "trtexec", compiled_anew},
    {"--stripAllWeights", "trtexec", compiled_anew},
    {"--weightless", "trtexec", compiled_anew},
    {"--versionCompatible", "trtexec", compiled_anew},
    {"--vc", "trtexec", compiled_anew},
    {"--useRuntime", "trtexec", compiled_anew},
    {"--leanDLLPath", "trtexec", compiled_anew},
    {"--excludeLeanRuntime", "trtexec", compiled_anew},
    {"--hardwareCompatibilityLevel", "trtexec", compiled_anew},
    {"--runtimePlatform", "trtexec", compiled_anew},
    {"--getPlanVersionOnly", "trtexec", compiled_anew},
    {"--asyncFileReader", "trtexec", compiled_anew},
    {"--safe", "trtexec", compiled_anew},
    {"--consistency", "trtexec", compiled_anew},
    {"--restricted", "trtexec", compiled_anew},
    {"--timeDeserialize", "trtexec", "use -v, which prints where the time of each run went; load_s and compile_s are in deepgap export"},
    {"--noBuilderCache", "trtexec", "use --cache DIR with an empty folder"},
    {"--noCompilationCache", "trtexec", "use --cache DIR with an empty folder"},
    {"--errorOnTimingCacheMiss", "trtexec", "use --cache DIR, which keeps how native's kernels were tuned"},
    {"--tempdir", "trtexec", "set TMPDIR in the environment"},
    {"--tempfileControls", "trtexec", "set TMPDIR in the environment"},
    {"--monitorMemory", "trtexec", "leave it out: each record has the memory that was used"},
    {"--allocationStrategy", "trtexec", no_memory_limit},
    {"--allowWeightStreaming", "trtexec", no_memory_limit},
    {"--weightStreamingBudget", "trtexec", no_memory_limit},
    {"--dumpOutput", "trtexec", written_outputs},
    {"--dumpRawBindingsToFile", "trtexec", written_outputs},
    {"--markDebug", "trtexec", "use deepgap check MODEL --nodes, which compares each node"},
    {"--saveDebugTensors", "trtexec", "use deepgap check MODEL --nodes, which compares each node"},
    {"--plugins", "trtexec", custom_operators},
    {"--staticPlugins", "trtexec", custom_operators},
    {"--dynamicPlugins", "trtexec", custom_operators},
    {"--setPluginsToSerialize", "trtexec", custom_operators},
    {"--ignoreParsedPluginLibs", "trtexec", custom_operators},
    {"--pluginInstanceNorm", "trtexec", engine_option},
    {"--deploy", "trtexec", "use --model FILE.onnx"},
    {"--uff", "trtexec", "use --model FILE.onnx"},
    {"--uffInput", "trtexec", "use --model FILE.onnx"},
    {"-l", "benchmark_app and perf_analyzer", "use --axis onnxruntime.custom_ops=FILE for a library, --slo p99=15ms for a limit"},
    {"-load_from_file", "benchmark_app", compiled_anew},
    {"-pcsort", "benchmark_app", "use deepgap profile MODEL"},
    {"-pcseq", "benchmark_app", "use deepgap profile MODEL"},
    {"-use_device_mem", "benchmark_app", "use --axis inputs=device, where the engine has it (deepgap backends)"},
    {"-stream_output", "benchmark_app", "leave it out: progress is shown, and -q hides it"},
    {"-time", "benchmark_app", "use --duration 10s"},
    {"-imgs", "benchmark_app", "use --dataset FOLDER"},
    {"-enforcebf16", "benchmark_app", "use --precision bf16"},
    {"-fp16", "benchmark_app", "use --precision fp16"},
    {"-qb", "benchmark_app", "use --precision int8"},
    {"-x", "perf_analyzer and onnxruntime_perf_test", "use --threads N; of a server's model deepgap measures the version that it serves"},
    {"--model-version", "perf_analyzer", "deepgap measures the version that the server serves"},
    {"--model-signature-name", "perf_analyzer", "use --axis tensorflow.signature=NAME, of TensorFlow"},
    {"--bls-composing-models", "perf_analyzer", "leave it out: the server's statistics are those of the model that is measured"},
    {"--sequence-id-range", "perf_analyzer", no_sequences},
    {"--num-of-sequences", "perf_analyzer", no_sequences},
    {"--sequence-length", "perf_analyzer", no_sequences},
    {"--sequence-length-variation", "perf_analyzer", no_sequences},
    {"--serial-sequences", "perf_analyzer", no_sequences},
    {"--string-length", "perf_analyzer", no_texts},
    {"--string-data", "perf_analyzer", no_texts},
    {"--input-tensor-format", "perf_analyzer", "use --axis tensors=json, of kserve; the default is bytes"},
    {"--output-tensor-format", "perf_analyzer", "use --axis tensors=json, of kserve; the default is bytes"},
    {"--shared-memory", "perf_analyzer", "deepgap sends tensors with each query, as other machines must"},
    {"--output-shared-memory-size", "perf_analyzer", "deepgap sends tensors with each query, as other machines must"},
    {"--periodic-concurrency-range", "perf_analyzer", "use --scenario concurrency --clients 1,2,4"},
    {"--request-period", "perf_analyzer", "use --scenario concurrency --clients 1,2,4"},
    {"--session-concurrency", "perf_analyzer", "use --scenario concurrency --clients 1,2,4"},
    {"--request-parameter", "perf_analyzer", "use --axis extra='{\"name\":1}', of openai"},
    {"--extra-inputs", "genai-perf", "use --axis extra='{\"name\":1}', of openai"},
    {"--max-threads", "perf_analyzer", "leave it out: one thread sends the queries and takes the answers"},
    {"--async", "perf_analyzer", "leave it out: all queries are asynchronous"},
    {"--sync", "perf_analyzer", "use --scenario single-stream for one query after the other"},
    {"-H", "perf_analyzer", "deepgap sends no other headers; a token goes into --axis token_file=FILE"},
    {"--ssl-https-verify-peer", "perf_analyzer", by_tls},
    {"--ssl-https-verify-host", "perf_analyzer", by_tls},
    {"--ssl-https-ca-certificates-file", "perf_analyzer", by_tls},
    {"--ssl-https-client-certificate-file", "perf_analyzer", by_tls},
    {"--ssl-https-private-key-file", "perf_analyzer", by_tls},
    {"--ssl-grpc-use-ssl", "perf_analyzer", by_tls},
    {"--ssl-grpc-root-certifications-file", "perf_analyzer", by_tls},
    {"--ssl-grpc-private-key-file", "perf_analyzer", by_tls},
    {"--ssl-grpc-certificate-chain-file", "perf_analyzer", by_tls},
    {"--trace-level", "perf_analyzer", server_traces},
    {"--trace-rate", "perf_analyzer", server_traces},
    {"--trace-count", "perf_analyzer", server_traces},
    {"--log-frequency", "perf_analyzer", server_traces},
    {"--collect-metrics", "perf_analyzer", "use --axis metrics=http://HOST:8002/metrics"},
    {"--metrics-interval", "perf_analyzer", "leave it out: metrics are read each second"},
    {"-f", "perf_analyzer and onnxruntime_perf_test",
     "use deepgap export STORE --output FILE.csv for rows, --shape INPUT:1x3x224x224 for sizes"},
    {"--latency-report-file", "perf_analyzer", "use deepgap export STORE --output FILE.csv"},
    {"--verbose-csv", "perf_analyzer", "use deepgap export STORE --output FILE.csv"},
    {"--enable-mpi", "perf_analyzer", "use --tenant, which measures several models together"},
    {"-z", "perf_analyzer", "use --dataset zeros"},
    {"--model-repository", "perf_analyzer", by_address},
    {"--triton-server-directory", "perf_analyzer", by_address},
    {"--grpc-compression-algorithm", "perf_analyzer", "deepgap does not compress what it sends"},
    {"--grpc-method", "perf_analyzer", "use --axis stream=on, of kserve over gRPC"},
    {"--url", "perf_analyzer", by_address},
    {"--base-url", "vLLM's benchmark", by_address},
    {"--host", "vLLM's benchmark", by_address},
    {"--port", "vLLM's benchmark", by_address},
    {"--protocol", "perf_analyzer", "use --device http://HOST:PORT or grpc://HOST:PORT"},
    {"--endpoint", "perf_analyzer and genai-perf", by_endpoint},
    {"--endpoint-type", "genai-perf", by_endpoint},
    {"--tokenizer", "genai-perf", "leave it out: tokens are counted by the server"},
    {"--random-seed", "genai-perf", "use --axis seed=N"},
    {"--artifact-dir", "genai-perf", "use --store FILE"},
    {"--generate-plots", "genai-perf", "use deepgap report STORE"},
    {"--schedule", "perf_analyzer", "use --scenario trace --trace FILE"},
    {"--fixed-schedule", "AIPerf", "use --scenario trace --trace FILE"},
    {"--goodput", "vLLM's benchmark", "use --slo ttft.p99=500ms,tpot.p99=50ms; goodput is in deepgap export"},
    {"--dataset-name", "vLLM's benchmark", "use --prompts FILE.jsonl in the form of ShareGPT, or lengths with --prompt-tokens"},
    {"--dataset-path", "vLLM's benchmark", "use --prompts FILE.jsonl in the form of ShareGPT, or lengths with --prompt-tokens"},
    {"--burstiness", "vLLM's benchmark", "use --scenario server for Poisson arrivals, constant, or bursty"},
    {"--save-result", "vLLM's benchmark", "leave it out: results are in the store (--store FILE)"},
    {"--percentile-metrics", "vLLM's benchmark", "leave it out: deepgap export has the percentiles of all times"},
    {"--metric-percentiles", "vLLM's benchmark", "leave it out: deepgap export has the percentiles of all times"},
    {"-A", "onnxruntime_perf_test", engine_option},
    {"-I", "onnxruntime_perf_test", "leave it out: samples are made up (--dataset seeded)"},
    {"-c", "hyperfine, benchmark_app and onnxruntime_perf_test",
     "use --scenario concurrency --clients N for parallel queries; deepgap runs no other command"},
    {"-y", "onnxruntime_perf_test", by_threads},
    {"-T", "onnxruntime_perf_test", "use --axis affinity=0-3, a list of CPUs"},
    {"-F", "onnxruntime_perf_test", free_sizes},
    {"-R", "onnxruntime_perf_test", custom_operators},
    {"--register_custom_op", "onnxruntime_perf_test", custom_operators},
    {"--use_extensions", "onnxruntime_perf_test", custom_operators},
    {"-Z", "onnxruntime_perf_test", engine_option},
    {"-g", "onnxruntime_perf_test", engine_option},
    {"-G", "onnxruntime_perf_test", engine_option},
    {"-K", "onnxruntime_perf_test", engine_option},
    {"-k", "onnxruntime_perf_test", engine_option},
    {"-X", "onnxruntime_perf_test", "leave it out: files of weights beside the model are found by its own paths"},
    {"-V", "onnxruntime_perf_test", "use -v, or deepgap --version"},
    {"--enable_mem_pattern", "onnxruntime_perf_test", engine_option},
    {"--graph_optimization_level", "onnxruntime_perf_test", engine_option},
    {"--plugin_ep_libs", "onnxruntime_perf_test", by_provider},
    {"--plugin_eps", "onnxruntime_perf_test", by_provider},
    {"--list_ep_devices", "onnxruntime_perf_test", "use deepgap devices, and deepgap backends for the engines"},
    {"--select_ep_devices", "onnxruntime_perf_test", by_provider},
    {"--compile_ep_context", "onnxruntime_perf_test", compiled_anew},
    {"--compile_model_path", "onnxruntime_perf_test", compiled_anew},
    {"--compile_binary_embed", "onnxruntime_perf_test", compiled_anew},
    {"--compile_only", "onnxruntime_perf_test", "use --dry-run, which shows the engines that take the model"},
    {"-hf", "llama-bench", by_file},
    {"-hfr", "llama-bench", by_file},
    {"-hff", "llama-bench", by_file},
    {"-hft", "llama-bench", by_file},
    {"--hf-repo", "llama-bench", by_file},
    {"--hf-file", "llama-bench", by_file},
    {"--hf-token", "llama-bench", by_file},
    {"-dio", "llama-bench", "leave it out: deepgap reads models before timing"},
    {"--direct-io", "llama-bench", "leave it out: deepgap reads models before timing"},
    {"-lm", "llama-bench", "leave it out: deepgap reads models before timing"},
    {"--load-mode", "llama-bench", "leave it out: deepgap reads models before timing"},
    {"--no-host", "llama-bench", engine_option},
    {"-fitt", "llama-bench", no_memory_limit},
    {"-fitc", "llama-bench", no_memory_limit},
    {"--fit-target", "llama-bench", no_memory_limit},
    {"--fit-ctx", "llama-bench", no_memory_limit},
    {"--debug-mode", "hyperfine", "use -v, which shows the last output of failed workers"},
    {"--reference-name", "hyperfine", "leave it out: deepgap compare names its sides by their points"},
    {"--max-benchmarking-time", "hyperfine", "use --budget TIME, the longest measurement of a point"},
};

}  // namespace

std::span<const TheirFlag> flags_of_engine_tools() { return rarer_flags; }
std::span<const TheirAnswer> answers_to_engine_tools() { return rarer_answers; }

}  // namespace deepgap
