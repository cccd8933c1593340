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
    EXPECT_NE(refusal({flag, "x"}).find("(benchmark_app)"), std::string::npos) << flag;
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
  EXPECT_NE(refusal({"--latency-threshold", "15"}).find("--bound p99=15ms"), std::string::npos);
}

TEST(Spellings, of_hyperfine) {
  EXPECT_EQ(spelled({"--warmup", "3", "--runs", "5"}), (Words{"--warmup", "3", "--repeats", "5"}));
  EXPECT_NE(refusal({"--export-csv", "a.csv"}).find("deepgap export"), std::string::npos);
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
