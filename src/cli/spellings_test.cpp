#include "cli/spellings.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

namespace deepgap {
namespace {

using Words = std::vector<std::string>;

const OwnFlags run_flags{
    {"help",    "model",   "onnx", "backend", "device", "precision",  "batch",    "scenario",   "rate",    "clients", "dataset",
     "streams", "threads", "axis", "shape",   "warmup", "iterations", "duration", "percentile", "repeats", "quiet",   "verbose"},
    "hmedpbstanrqv",
    "hqv"};

Words spelled(const Words& arguments) { return in_our_spelling("run", arguments, run_flags); }

std::string refusal(const Words& arguments) {
  try {
    spelled(arguments);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "";
}

TEST(Spellings, ours_stays_as_it_is) {
  for (const Words& words : {Words{"study.toml", "--model=resnet50", "-b4", "-b", "1,2", "-qv", "--duration", "8s", "--device", "cuda:0"},
                             Words{"--axis", "x=-3", "-h"}, Words{"-m", "a.onnx", "--warmup", "3"}}) {
    EXPECT_EQ(spelled(words), words);
  }
}

TEST(Spellings, behind_two_dashes_nothing_is_a_flag) {
  EXPECT_EQ(spelled({"-b", "4", "--", "-hint", "net.onnx"}), (Words{"-b", "4", "./-hint", "net.onnx"}));
}

TEST(Spellings, of_trtexec) {
  EXPECT_EQ(spelled({"--onnx=a.onnx", "--fp16", "--duration=3"}), (Words{"--onnx=a.onnx", "--precision", "fp16", "--duration", "3s"}));
  EXPECT_EQ(spelled({"--shapes=in:8x3x224x224,ids:8x128"}), (Words{"--shape", "in:8x3x224x224", "--shape", "ids:8x128"}));
  EXPECT_EQ(spelled({"--infStreams", "2"}), (Words{"--streams", "2"}));
  EXPECT_NE(refusal({"--warmUp=200"}).find("--warmup N"), std::string::npos);
  EXPECT_NE(refusal({"--loadEngine=a.plan"}).find("--model FILE.onnx"), std::string::npos);
}

TEST(Spellings, of_benchmark_app) {
  EXPECT_EQ(
      spelled({"-m", "a.onnx", "-hint", "latency", "-niter", "100", "-nireq", "4"}),
      (Words{"-m", "a.onnx", "--backend", "openvino", "--axis", "openvino.hint=latency", "--iterations", "100", "--axis", "in_flight=4"}));
  EXPECT_EQ(spelled({"-e", "openvino", "-hint", "throughput"}),
            (Words{"-e", "openvino", "--scenario", "offline", "--axis", "openvino.hint=throughput"}));
  EXPECT_EQ(spelled({"-shape", "in[1,3,8,8], ids[1,4]"}), (Words{"--shape", "in:1x3x8x8", "--shape", "ids:1x4"}));
  EXPECT_EQ(spelled({"-infer_precision", "f16"}), (Words{"--precision", "fp16"}));
  EXPECT_NE(refusal({"-hint", "latency", "-t", "10"}).find("--duration 10s"), std::string::npos);
  EXPECT_EQ(spelled({"-t", "10"}), (Words{"-t", "10"})) << "alone it is ours";
  EXPECT_NE(refusal({"-shape", "[1,3,8,8]"}).find("expected --shape INPUT"), std::string::npos);
  EXPECT_NE(refusal({"-hint"}).find("needs a value"), std::string::npos);
}

TEST(Spellings, of_benchmark_app_that_begin_with_a_letter_of_ours) {
  for (const char* flag : {"-op", "-pin", "-extensions", "-mean_values", "-progress"}) {
    EXPECT_NE(refusal({flag, "x"}).find("a flag of benchmark_app"), std::string::npos) << flag << ": " << refusal({flag, "x"});
  }
}

TEST(Spellings, of_perf_analyzer) {
  EXPECT_EQ(spelled({"--concurrency-range", "1:8:2"}), (Words{"--scenario", "concurrency", "--clients", "1..8+2"}));
  EXPECT_EQ(spelled({"--concurrency-range=4"}), (Words{"--scenario", "concurrency", "--clients", "4"}));
  EXPECT_EQ(spelled({"--request-rate-range", "10:20"}), (Words{"--scenario", "constant", "--rate", "10..20"}));
  EXPECT_EQ(spelled({"--request-rate-range", "0.5:1.5:0.5", "--request-distribution", "poisson"}),
            (Words{"--scenario", "server", "--rate", "0.5,1,1.5"}));
  EXPECT_EQ(spelled({"-s", "bursty", "--request-rate-range", "10"}), (Words{"-s", "bursty", "--rate", "10"}));
  EXPECT_EQ(spelled({"--measurement-interval", "5000"}), (Words{"--duration", "5000ms"}));
  EXPECT_NE(refusal({"--concurrency-range", "8:1"}).find("START:END:STEP"), std::string::npos);
  EXPECT_NE(refusal({"--concurrency-range", "a"}).find("START:END:STEP"), std::string::npos);
  EXPECT_NE(refusal({"--latency-threshold", "15"}).find("--slo p99=15ms"), std::string::npos);
}

TEST(Spellings, of_hyperfine) {
  EXPECT_EQ(spelled({"--warmup", "3", "--runs", "5"}), (Words{"--warmup", "3", "--repeats", "5"}));
  EXPECT_NE(refusal({"--export-csv", "a.csv"}).find("deepgap export"), std::string::npos);
}

const OwnFlags all_run_flags{
    {"help",       "model",    "device",       "precision", "batch",   "batch-size", "axis",        "shape",          "warmup",
     "iterations", "duration", "min-duration", "interval",  "repeats", "json",       "export-json", "export-timings", "dry-run",
     "study",      "store",    "quiet",        "verbose",   "weights", "threads",    "profile"},
    "hmedpbstanrqvow",
    "hqv"};

TEST(Spellings, of_tools_that_measure_programs) {
  const auto ours = [](const Words& theirs) { return in_our_spelling("run", theirs, all_run_flags); };
  EXPECT_EQ(ours({"--min-benchmarking-time", "3"}), (Words{"--min-duration", "3s"}));
  EXPECT_EQ(ours({"--export-json", "a.json", "--min-time=0.5"}), (Words{"--export-json", "a.json", "--min-duration", "0.5s"}));
  EXPECT_EQ(ours({"--devices", "0,2"}), (Words{"--device", "cuda:0,cuda:2"}));
  EXPECT_EQ(ours({"--run-once"}), (Words{"--warmup", "0", "--iterations", "1"}));
  EXPECT_EQ(ours({"--benchmark_repetitions=5", "--benchmark_min_time=2s"}), (Words{"--repeats", "5", "--min-duration", "2s"}));
  EXPECT_EQ(ours({"--benchmark_min_time=10x", "--benchmark_format=json"}), (Words{"--iterations", "10", "--json"}));
  EXPECT_EQ(ours({"--benchmark_out=a.json", "--benchmark_report_aggregates_only=true"}), (Words{"--export-json", "a.json"}));
  EXPECT_EQ(ours({"-m", "a.onnx", "-r", "5", "--no-warmup"}), (Words{"-m", "a.onnx", "-r", "5", "--warmup", "0"}));
  EXPECT_EQ(ours({"--exportTimes=t.json"}), (Words{"--export-timings", "t.json"}));
}

TEST(Spellings, of_tools_that_measure_programs_and_mean_something_else) {
  const auto answer = [](const Words& theirs) -> std::string {
    try {
      in_our_spelling("run", theirs, all_run_flags);
    } catch (const Error& error) {
      return error.what();
    }
    return "taken";
  };
  EXPECT_EQ(answer({"-p", "512"}), "-p 512 is a flag of llama-bench: -p means --precision in deepgap; give sizes with --shape INPUT:1x512");
  EXPECT_EQ(answer({"-p", "fp16"}), "taken");
  EXPECT_NE(answer({"-o", "md"}).find("--json prints JSON"), std::string::npos);
  EXPECT_EQ(answer({"-o", "md.db"}), "taken");
  EXPECT_NE(answer({"-w", "3"}).find("--warmup 3"), std::string::npos);
  for (const char* flag : {"-ngl", "--flash-attn", "-fa", "-ub", "-pg", "-mmp", "--n-gen", "-ctk"})
    EXPECT_NE(answer({flag, "1"}).find("is a flag of llama-bench: "), std::string::npos) << flag;
  for (const char* flag : {"--max-noise", "--stopping-criterion", "--lgc", "--md", "--min-samples"})
    EXPECT_NE(answer({flag, "1"}).find("is a flag of nvbench: "), std::string::npos) << flag;
  for (const char* flag : {"--benchmark_filter=x", "--benchmark_list_tests", "--benchmark_perf_counters=x"})
    EXPECT_NE(answer({flag}).find("is a flag of Google Benchmark: "), std::string::npos) << flag;
  for (const char* flag : {"-L", "-P", "-M", "-S", "--setup", "--export-markdown", "--time-unit"})
    EXPECT_NE(answer({flag, "x"}).find("is a flag of hyperfine: "), std::string::npos) << flag;
  EXPECT_NE(answer({"--devices", "all"}).find("deepgap devices"), std::string::npos);
  EXPECT_NE(answer({"--benchmark_format=csv"}).find("FILE.csv"), std::string::npos);
}

TEST(Spellings, of_engine_tools) {
  OwnFlags own = all_run_flags;
  own.names.insert(own.names.end(), {"dataset", "scenario", "clients", "rate", "prompt-tokens", "output-tokens", "backend"});
  const auto ours = [&](const Words& theirs) { return in_our_spelling("run", theirs, own); };
  const auto answer = [&](const Words& theirs) -> std::string {
    try {
      ours(theirs);
    } catch (const Error& error) {
      return error.what();
    }
    return "taken";
  };
  EXPECT_EQ(ours({"--request-count=100", "--warmup-request-count", "10"}), (Words{"--iterations", "100", "--warmup", "10"}));
  EXPECT_EQ(ours({"--isl", "512", "--osl=128", "--concurrency", "4"}),
            (Words{"--prompt-tokens", "512", "--output-tokens", "128", "--scenario", "concurrency", "--clients", "4"}));
  EXPECT_EQ(ours({"--request-rate", "8", "--num-prompts", "64", "--ignore-eos"}),
            (Words{"--scenario", "server", "--rate", "8", "--iterations", "64"}));
  EXPECT_NE(answer({"--request-rate", "inf"}).find("--scenario burst"), std::string::npos);
  for (const char* flag : {"--profilingVerbosity=detailed", "--refit", "--useDLACore=0", "--maxAuxStreams=2", "--layerPrecisions=a:fp16"})
    EXPECT_NE(answer({flag}).find("is a flag of trtexec: "), std::string::npos) << flag;
  for (const char* flag : {"-x", "-y", "-I", "-A", "-R", "--compile_ep_context"})
    EXPECT_NE(answer({flag, "1"}).find("onnxruntime_perf_test: "), std::string::npos) << flag;
  EXPECT_EQ(answer({"-e", "cuda"}),
            "-e cuda is a flag of onnxruntime_perf_test: -e means --backend in deepgap; use --backend onnxruntime --device cuda:0");
  EXPECT_NE(answer({"-s", "10"}).find("--interval 10%"), std::string::npos);
  EXPECT_NE(answer({"-i", "grpc"}).find("grpc://HOST:PORT"), std::string::npos);
  EXPECT_NE(answer({"-m", "10"}).find("--repeats N"), std::string::npos);
  EXPECT_EQ(ours({"-a", "x=1", "-e", "native", "-s", "server"}), (Words{"-a", "x=1", "-e", "native", "-s", "server"}));
}

// Each flag of these tools' help texts is taken, or answered by the name of a tool.
TEST(Spellings, every_flag_of_benchmark_tools_is_answered) {
  OwnFlags own{
      {"axis",          "budget",    "device",  "dry-run",  "export-json", "export-timings", "iterations", "json",    "min-duration",
       "output-tokens", "precision", "profile", "progress", "repeats",     "store",          "study",      "threads", "timeout",
       "warmup",        "quiet",     "help",    "model",    "weights",     "interval",       "batch",      "input"},
      "abdhmnopqrtvw",
      "hqv"};
  const auto answer = [&](const Words& theirs) -> std::string {
    try {
      in_our_spelling("run", theirs, own);
    } catch (const Error& error) {
      return error.what();
    }
    return "taken";
  };
  for (const Words& flag : std::vector<Words>{{"-E"}, {"-n", "mine"}, {"-u", "millisecond"}, {"--version"}, {"-n", "2second"}}) {
    const std::string text = answer(flag);
    EXPECT_TRUE(text == "taken" || text.find("hyperfine") != std::string::npos) << flag[0] << ": " << text;
  }
  EXPECT_EQ(answer({"--show-elapsed"}), "taken");
  for (const Words& flag : std::vector<Words>{{"--help-axes"},
                                              {"--help-axis"},
                                              {"--json", "r.json"},
                                              {"--json=stdout"},
                                              {"--json", "results.txt"},
                                              {"--json=results"},
                                              {"-m", "net.onnx", "--json", "results"},
                                              {"--jsonlist-benches"},
                                              {"--jsonlist-devices"},
                                              {"-a", "n=[1,2]"},
                                              {"--axis", "T{io}[pow2]=[0:3:1]"},
                                              {"--batch-target-time", "1"}})
    EXPECT_NE(answer(flag).find("nvbench"), std::string::npos) << flag[0] << ": " << answer(flag);
  for (const Words& flag : std::vector<Words>{{"--v=1"}, {"--benchmark_new_flag=x"}, {"--benchmark_color=no"}})
    EXPECT_NE(answer(flag).find("Google Benchmark"), std::string::npos) << flag[0] << ": " << answer(flag);
  for (const Words& flag : std::vector<Words>{{"--progress"},
                                              {"--progress", "-n", "5"},
                                              {"-t", "1-4"},
                                              {"--threads", "1-8*2"},
                                              {"-p", "512,1024"},
                                              {"-n", "16,32"},
                                              {"-hfr", "a/b"},
                                              {"-rpc", "h:1"},
                                              {"-dt", "0.1"},
                                              {"-nr"},
                                              {"-lzm", "on"},
                                              {"--offline"},
                                              {"--n-gen-warmup", "1"},
                                              {"--moe-cache", "on"}})
    EXPECT_NE(answer(flag).find("llama-bench"), std::string::npos) << flag[0] << ": " << answer(flag);
  EXPECT_NE(answer({"-t", "1-8*2"}).find("--threads 1..8*2"), std::string::npos);
  for (const Words& ours : std::vector<Words>{{"--progress", "json"},
                                              {"-t", "1..4"},
                                              {"-n", "16"},
                                              {"-p", "fp16"},
                                              {"--json", "-v"},
                                              {"--json", "resnet18"},
                                              {"--json", "resnet18:width=0.5"},
                                              {"--json", "net.onnx"},
                                              {"-m", "net.onnx", "--json", "study.toml"},
                                              {"--json=true"},
                                              {"-a", "openvino.config={\"A\":[1]}"}})
    EXPECT_EQ(in_our_spelling("run", ours, own), ours) << ours.back();
}

TEST(Spellings, a_letter_of_ours_is_ours) {
  for (const char* flag : {"-c", "-f", "-l", "-x", "-u"})
    EXPECT_EQ(in_our_spelling("other", {flag, "x"}, {{}, flag + 1, ""}), (Words{flag, "x"})) << flag;
}

TEST(Spellings, one_dash) {
  const OwnFlags with_store{{"store", "batch", "budget", "help"}, "obh", "h"};
  for (const char* flag : {"-out", "-output", "-output=r.db", "-bud"})
    EXPECT_THROW(in_our_spelling("run", {flag}, with_store), Error) << flag << " is no -" << flag[1];
  for (const Words& ours : {Words{"-or.db"}, Words{"-oout/r"}, Words{"-b4"}, Words{"-o", "out"}, Words{"-b1..4"}})
    EXPECT_EQ(in_our_spelling("run", ours, with_store), ours);
  EXPECT_EQ(spelled({"-model", "a.onnx", "-batch=4"}), (Words{"--model", "a.onnx", "--batch=4"}));
  EXPECT_NE(refusal({"-hlep"}).find("did you mean '--help'"), std::string::npos);
  EXPECT_NE(refusal({"-hxyzw"}).find("deepgap run --help"), std::string::npos);
  EXPECT_NE(refusal({"-xyzw"}).find("unknown flag '-xyzw'"), std::string::npos);
}

TEST(Spellings, commands_whose_model_is_a_word) {
  const OwnFlags check{{"help", "backend", "precision"}, "hep", "h"};
  EXPECT_EQ(in_our_spelling("check", {"--onnx=a.onnx", "--fp16"}, check), (Words{"a.onnx", "--precision", "fp16"}));
  EXPECT_EQ(in_our_spelling("check", {"-m", "resnet50"}, check), (Words{"resnet50"}));
  const OwnFlags devices{{"help", "json"}, "h", "h"};
  EXPECT_EQ(in_our_spelling("devices", {"--fp16"}, devices), (Words{"--fp16"})) << "unknown there, which is said later";
}

}  // namespace
}  // namespace deepgap
