#include "plan/study.h"

#include "base/file.h"
#include "base/test_error.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace deepgap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* complete = R"(name = "complete"
describe = "every key"
seed = 7

[defaults]
backend = ["native", "onnxruntime"]
repeats = 2
interval = "5%"
budget = "2s"

[[defaults.skip]]
backend = "native"
model = "resnet101"

[[grid]]
model = ["resnet18", "resnet101"]
batch = "1..8*2,12"
threads = [1, 2]
percentile = 99
warmup_budget = "500ms"
check = false

[grid.options]
native.tuning = true
note = "1..3"

[grid.axis]
streams = "1..3"

[[grid.skip]]
batch = ">= 8"
streams = "!= 1"
reason = "not enough memory"

[[grid]]
model = "resnet50:width=0.5,classes=10"
backend = "null"
warmup = 20
iterations = 100
repeats = 3
sweeps = 10
)";

std::string error_of(const std::string& text, ErrorKind kind = ErrorKind::usage) {
  return deepgap::error_of([&] { parse_study(text, "s.toml"); }, kind);
}

const Axis& axis(const Grid& grid, const std::string& name) {
  const Axis* found = find_axis(grid.axes, name);
  return found != nullptr ? *found : throw std::out_of_range(name);
}

TEST(StudyFile, ReadsEveryKey) {
  const Study study = parse_study(complete, "s.toml");
  EXPECT_EQ(study.name, "complete");
  EXPECT_EQ(study.describe, "every key");
  EXPECT_EQ(study.seed, 7u);
  ASSERT_EQ(study.grids.size(), 2u);
  const Grid& first = study.grids[0];
  EXPECT_THAT(axis(first, "model").values, ElementsAre("resnet18", "resnet101"));
  EXPECT_THAT(axis(first, "batch").values, ElementsAre("1", "2", "4", "8", "12"));
  EXPECT_THAT(axis(first, "threads").values, ElementsAre("1", "2"));
  EXPECT_THAT(axis(first, "backend").values, ElementsAre("native", "onnxruntime"));
  EXPECT_THAT(axis(first, "native.tuning").values, ElementsAre("true"));
  EXPECT_THAT(axis(first, "note").values, ElementsAre("1..3"));  // an option's text is taken as it is
  EXPECT_THAT(axis(first, "streams").values, ElementsAre("1", "2", "3"));
  EXPECT_EQ(first.repeats, 2);
  EXPECT_FALSE(first.check);
  EXPECT_EQ(first.stopping.name, "interval");
  EXPECT_DOUBLE_EQ(first.stopping.interval, 0.05);
  EXPECT_EQ(first.stopping.budget, 2'000'000'000);
  EXPECT_EQ(first.stopping.warmup_budget, 500'000'000);
  EXPECT_EQ(first.stopping.target, "p99");
  EXPECT_EQ(first.stopping.warmup, std::nullopt);
  ASSERT_EQ(first.skips.size(), 2u);
  EXPECT_EQ(first.skips[0].reason, "");
  EXPECT_EQ(first.skips[1].reason, "not enough memory");
  EXPECT_EQ(first.skips[1].conditions[0].axis, "batch");
  EXPECT_EQ(first.skips[1].conditions[0].op, ">=");
  EXPECT_EQ(first.skips[1].conditions[0].value, "8");
}

TEST(StudyFile, FiveRepeatsAreUsual) {
  const auto repeats = [](const std::string& grid, const Overrides& overrides = {}) {
    Study study = parse_study("[[grid]]\nmodel = \"a\"\n" + grid, "s.toml");
    apply_overrides(study, overrides);
    return study.grids[0].repeats;
  };
  EXPECT_EQ(repeats(""), 5);
  EXPECT_EQ(repeats("iterations = 10"), 5);
  for (const char* own_way : {"duel = \"backend\"", "find_peak = true", "sweeps = 10", "[grid.options]\nmlperf = \"v6.0\""})
    EXPECT_EQ(repeats(own_way), 1) << own_way;
  EXPECT_EQ(repeats("repeats = 2\nsweeps = 10"), 2);
  Overrides flags;
  flags.duel = "backend";
  EXPECT_EQ(repeats("", flags), 1);
  EXPECT_EQ(repeats("repeats = 3", flags), 3);
  EXPECT_EQ(parse_study("[defaults]\nrepeats = 1\n[[grid]]\nmodel = \"a\"\n", "s.toml").grids[0].repeats, 1);
  Study of_flags;
  apply_overrides(of_flags, {.axes = {{"model", {"a"}}}});
  EXPECT_EQ(of_flags.grids[0].repeats, 1);
}

TEST(StudyFile, AGridsWordReplacesThatOfTheDefaults) {
  const Grid second = parse_study(complete, "s.toml").grids.at(1);
  EXPECT_THAT(axis(second, "model").values, ElementsAre("resnet50:width=0.5,classes=10"));
  EXPECT_THAT(axis(second, "backend").values, ElementsAre("null"));
  EXPECT_EQ(second.stopping.name, "counts");
  EXPECT_EQ(second.stopping.warmup, 20);
  EXPECT_EQ(second.stopping.iterations, 100);
  EXPECT_EQ(second.repeats, 3);
  EXPECT_EQ(second.sweeps, 10);
  EXPECT_TRUE(second.check);
}

TEST(StudyFile, ADurationReplacesAnInterval) {
  const Study study = parse_study("[defaults]\ninterval = 0.02\n[[grid]]\nmodel = \"m\"\nduration = \"3s\"\n", "x/long-name.toml");
  EXPECT_EQ(study.name, "long-name");
  EXPECT_EQ(study.grids[0].stopping.name, "duration");
  EXPECT_EQ(study.grids[0].stopping.duration, 3'000'000'000);
}

TEST(StudyFile, AWindowMayHaveAShortestLengthUnderAnyRule) {
  const auto stopping = [](const std::string& defaults, const std::string& grid) {
    return parse_study("[defaults]\n" + defaults + "\n[[grid]]\nmodel = \"m\"\n" + grid, "s.toml").grids[0].stopping;
  };
  const StoppingSettings counts = stopping("", "min_duration = \"1s\"\niterations = 100");
  EXPECT_EQ(counts.name, "counts");
  EXPECT_EQ(counts.iterations, 100);
  EXPECT_EQ(counts.duration, 1'000'000'000);
  EXPECT_EQ(stopping("min_duration = \"2s\"", "iterations = 100").duration, 2'000'000'000) << "the defaults' holds";
  EXPECT_EQ(stopping("duration = \"2s\"", "iterations = 100").duration, std::nullopt);
  EXPECT_EQ(stopping("", "energy = true\niterations = 100").duration, 10'000'000'000);
  EXPECT_EQ(stopping("", "energy = true\nduration = \"30s\"").duration, 30'000'000'000);
  EXPECT_EQ(stopping("", "energy = false").duration, std::nullopt);
}

TEST(StudyFile, ErrorsNameFileAndLine) {
  const auto with = [](const std::string& lines) { return error_of("[[grid]]\nmodel = \"m\"\n" + lines); };
  EXPECT_EQ(with("bach = 3"), "s.toml:3: unknown key 'bach', did you mean 'batch'?");
  EXPECT_EQ(with("iteration = 3"), "s.toml:3: unknown key 'iteration', did you mean 'iterations'?");
  EXPECT_EQ(with("unheard = 3"),
            "s.toml:3: unknown key 'unheard'; options of backends, scenarios and datasets stand under [grid.options] or [grid.axis]");
  EXPECT_EQ(with("batch = []"), "s.toml:3: 'batch' is an empty list; name at least one value");
  EXPECT_EQ(with("\nbatch = \"1..x\""), "s.toml:4: 'batch': invalid range '1..x': expected 1..8, 10..50+10 or 1..512*2");
  EXPECT_EQ(with("batch = \"\""), "s.toml:3: 'batch': no value; write one, a list 1,2,4 or a range 1..512*2");
  EXPECT_EQ(with("batch = [1,\n2,\n-3]"), "s.toml:3: invalid value '-3' for batch: expected a whole number from 1 to 1073741824");
  EXPECT_EQ(with("batch = 1.5"), "s.toml:3: invalid value '1.5' for batch: expected a whole number from 1 to 1073741824");
  EXPECT_EQ(with("precision = \"fp6\""),
            "s.toml:3: invalid value 'fp6' for precision: expected fp32, tf32, bf16, fp16, mixed, fp8 or int8; did you mean 'fp16'?");
  EXPECT_EQ(with("device = \"xpu\""),
            "s.toml:3: invalid value 'xpu' for device: expected cpu, cuda:0 or, for several, cuda:0+cuda:1; did you mean 'cpu'?");
  EXPECT_EQ(with("device = \"cuda:x\""),
            "s.toml:3: invalid value 'cuda:x' for device: expected cpu, cuda:0 or, for several, cuda:0+cuda:1");
  EXPECT_EQ(with("device = \"127.0.0.1:39101\""),
            "s.toml:3: invalid value '127.0.0.1:39101' for device: expected http://127.0.0.1:39101 or grpc://127.0.0.1:39101 for a server");
  EXPECT_EQ(with("device = \"localhost:8000\""),
            "s.toml:3: invalid value 'localhost:8000' for device: expected http://localhost:8000 or grpc://localhost:8000 for a server");
  EXPECT_EQ(with("device = \"npu:0\""),
            "s.toml:3: invalid value 'npu:0' for device: expected cpu, cuda:0 or, for several, cuda:0+cuda:1; did you mean 'cpu'?");
  EXPECT_EQ(with("device = \"http://127.0.0.1:99999\""),
            "s.toml:3: device: 'http://127.0.0.1:99999': '99999' is not a port; expected 1 to 65535");
  EXPECT_EQ(with("device = \"grpc://[::1]:0/path\""), "s.toml:3: device: 'grpc://[::1]:0/path': '0' is not a port; expected 1 to 65535");
  EXPECT_EQ(with("repeats = 0"), "s.toml:3: 'repeats' must be a whole number from 1 to 100000");
  EXPECT_EQ(with("repeats = \"two\""), "s.toml:3: 'repeats' must be a whole number from 1 to 100000");
  EXPECT_EQ(with("duration = 5"), "s.toml:3: 'duration' must be a time with its unit, such as \"500ms\", \"8s\" or \"2m\"");
  EXPECT_EQ(with("interval = \"200%\""), "s.toml:3: 'interval' must be a percentage or fraction below 100 %, such as \"1%\" or 0.01");
  EXPECT_EQ(with("duration = \"5s\"\niterations = 5"), "s.toml:4: 'duration' and 'iterations' each end a run: keep one of them");
  EXPECT_EQ(with("percentile = 100"), "s.toml:3: 'percentile' must be a number between 0 and 100 such as 99 or 99.9");
  EXPECT_EQ(with("check = 1"), "s.toml:3: 'check' must be true or false");
  EXPECT_EQ(with("batch = 1979-05-27"), "s.toml:3: 'batch' must be a text, a number, true, false or a list of them");
  EXPECT_EQ(with("[grid.options]\nbatch = 3"), "s.toml:4: 'batch' is a key of the grid itself: write it above its tables");
  EXPECT_EQ(with("[grid.options]\nx = 3\n[grid.axis]\nx = 4"), "s.toml:6: 'x' is there twice");
  EXPECT_EQ(with("[grid.skip]\nbatch = 3"), "s.toml:3: write [[grid.skip]] with double brackets: there may be several");
  EXPECT_EQ(with("[[grid.skip]]\nbatch = \"=> 3\""), "s.toml:4: invalid comparison '=>': expected =, !=, <, <=, > or >=");
  EXPECT_EQ(with("[[grid.skip]]\nbatch = \"> many\""), "s.toml:4: batch: '> many' compares with no number");
  EXPECT_EQ(with("[[grid.skip]]\nbach = 3"), "s.toml:4: unknown axis 'bach', did you mean 'batch'?");
  EXPECT_EQ(with("[[grid.skip]]\nreason = \"x\""), "s.toml:3: a skip rule without a condition would leave out everything");
  EXPECT_EQ(with("[[grid.skip]]\nbatch = 3\nreason = \" \""),
            "s.toml:5: an empty reason; leave the key out to leave the points out of the plan");
}

TEST(StudyFile, ErrorsOfTheWholeFile) {
  EXPECT_EQ(error_of(""), "s.toml:1: nothing to measure: it has no [[grid]]");
  EXPECT_EQ(error_of("[grid]\nmodel = \"m\""), "s.toml:1: write [[grid]] with double brackets: there may be several");
  EXPECT_EQ(error_of("grid = []"), "s.toml:1: write [[grid]] with double brackets: there may be several");
  EXPECT_EQ(error_of("grid = [1]"), "s.toml:1: 'grid' must be a table");
  EXPECT_EQ(error_of("nam = \"x\""), "s.toml:1: unknown key 'nam', did you mean 'name'?");
  EXPECT_EQ(error_of("repeats = 3"), "s.toml:1: unknown key 'repeats'; it belongs under [[grid]] or [defaults]");
  EXPECT_EQ(error_of("seed = -1"), "s.toml:1: 'seed' must be a whole number from 0 to 9223372036854775807");
  EXPECT_THAT(error_of("a = \n", ErrorKind::input), HasSubstr("s.toml:1: "));
  EXPECT_THAT(error_of("x = 1\nx = 2\n", ErrorKind::input), HasSubstr("s.toml:2: "));
  EXPECT_THAT(error_of("x = \"\xFF\"\n", ErrorKind::input), HasSubstr("s.toml:1: "));
  EXPECT_THAT(error_of(std::string(100'000, '['), ErrorKind::input), HasSubstr("s.toml:1: "));
  EXPECT_THAT(error_of("x = " + std::string(100'000, '['), ErrorKind::input), HasSubstr("s.toml:1: "));
  EXPECT_THROW(read_study("/absent/study.toml"), Error);
}

TEST(StudyFile, TheStudiesInTheTreeAreSound) {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("studies")) {
    if (entry.path().extension() != ".toml") continue;
    ++found;
    const Study study = read_study(entry.path().string());
    EXPECT_EQ(study.name, entry.path().stem());
    EXPECT_FALSE(study.describe.empty());
    for (const int cpus : {1, 2, 64}) EXPECT_FALSE(expand(study, cpus).empty());
  }
  EXPECT_GE(found, 3);
}

TEST(StudyFile, TheDocumentedExampleIsSound) {
  const std::string page = read_text("docs/reference/study-file.md");
  const std::string fence = "```toml\n";
  const size_t begin = page.find(fence) + fence.size();
  const Study study = parse_study(page.substr(begin, page.find("```", begin) - begin), "docs/reference/study-file.md");
  EXPECT_EQ(study.name, "my-study");
  const auto jobs = expand(study, 8);
  EXPECT_FALSE(jobs.empty());
  EXPECT_TRUE(std::any_of(jobs.begin(), jobs.end(), [](const Job& job) { return job.skip_reason == "takes too long"; }));
}

TEST(StudyFile, DeepGapIsItsProtocol) {
  const auto jobs = expand(read_study("studies/deep-gap.toml"), 2);
  // 3 models, 11 batches, 30 repeats; GPU: LibTorch in two precisions and TensorRT in one; CPU: three engines in FP32 and two in INT8.
  EXPECT_EQ(jobs.size(), 3u * 11 * 30 * (2 + 1 + 3 + 2));
  for (const Job& job : jobs) {
    EXPECT_EQ(job.stopping.warmup, 20);
    EXPECT_EQ(job.stopping.iterations, 100);
    EXPECT_EQ(job.sweep, job.repeat / 3);
  }
}

TEST(StudyFile, DeepGapIsPlannedForTheDevicesThatAreNamed) {
  for (const std::string device : {"cpu", "cuda:1"}) {
    Study study = read_study("studies/deep-gap.toml");
    Overrides overrides;
    overrides.axes = {{"device", {device}}};
    apply_overrides(study, overrides);
    for (const Job& job : expand(study, 2))
      EXPECT_EQ(job.point.backend == "libtorch_cuda" || job.point.options.contains("provider"), device != "cpu");
  }
}

TEST(StudyFile, GdevAiStaysWithinTheMachine) {
  const Study study = read_study("studies/gdev-ai.toml");
  EXPECT_EQ(expand(study, 2).size(), 2u * 3 * 5 * 2 * 30);     // threads 1 2
  EXPECT_EQ(expand(study, 16).size(), 2u * 3 * 5 * 8 * 30);    // 1 2 3 4 6 8 12 16
  EXPECT_EQ(expand(study, 128).size(), 2u * 3 * 5 * 12 * 30);  // all
  for (const Job& job : expand(study, 2)) EXPECT_EQ(job.point.options.at("affinity"), "first");
}

// The parser takes its stack for depth: 35,000 parts of a key ended the program.
TEST(StudyFile, NestingIsLimitedBeforeItIsParsed) {
  const auto error_with = [](const std::string& line) {
    return error_of([&] { parse_study("name = \"x\"\n" + line + "\n", "s.toml"); }, ErrorKind::input);
  };
  const auto repeated = [](const std::string& text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  const std::string message = "s.toml:2: nested deeper than 32 (keys with dots, or brackets)";
  EXPECT_EQ(error_with(repeated("a.", 35'000) + "a = 1"), message);
  EXPECT_EQ(error_with("[" + repeated("a.", 35'000) + "a]"), message);
  EXPECT_EQ(error_with(repeated("\"a\" . ", 35'000) + "a = 1"), message);
  EXPECT_EQ(error_with("a = " + repeated("[", 200) + repeated("]", 200)), message);
  EXPECT_EQ(error_with("a = " + repeated("{ a = ", 200) + "1" + repeated("}", 200)), message);
}

TEST(StudyFile, DotsAndBracketsOfTextsAndCommentsAreNoNesting) {
  const std::string many(100, '.'), open(100, '[');
  const Study study = parse_study("# " + many + open + "\ndescribe = \"\"\"" + many + "\n\"" + open + "\"\"\"\nname = '" + many + open +
                                      "\\'\n[[grid]]\nmodel = \"a\\\"" + many + "\"\nbackend = \"null\"\nbatch = [1,2,3,\n4]\n",
                                  "s.toml");
  EXPECT_EQ(study.name, many + open + "\\");
  EXPECT_EQ(study.grids.size(), 1u);
}

// Work grows with a file's size and not with its square: 70,000 options took minutes. Counted by the limits alone, since time is not the
// test's.
TEST(StudyFile, OptionsAreLimited) {
  const auto with_options = [](int count) {
    std::string text = "[[grid]]\nmodel = \"m\"\nbackend = \"null\"\n[grid.options]\n";
    for (int i = 0; i < count; ++i) text += "o" + std::to_string(i) + " = 1\n";
    return text;
  };
  EXPECT_EQ(expand(parse_study(with_options(10'000), "s.toml"), 1).size(), 5U);
  EXPECT_EQ(error_of([&] { expand(parse_study(with_options(10'001), "s.toml"), 1); }, ErrorKind::usage),
            "s.toml:1: 10001 options; at most 10000 can be given");
}

TEST(StudyFile, RunsTimesOptionsAndSkipConditionsAreLimited) {
  std::string text = "[[grid]]\nmodel = \"m\"\nbatch = \"1..2000\"\n[grid.axis]\nseed = \"1..100\"\n[grid.options]\n";
  for (int i = 0; i < 100; ++i) text += "o" + std::to_string(i) + " = 1\n";
  EXPECT_EQ(
      error_of([&] { expand(parse_study(text, "s.toml"), 1); }, ErrorKind::usage),
      "s.toml:1: 1000000 runs with 103 options and skip conditions are too many: their product is at most 20000000; make axes or skip "
      "rules fewer");
}

TEST(StudyFile, WhatDefaultsGiveManyGridsIsLimited) {
  std::string text = "[defaults.options]\n";
  for (int i = 0; i < 2000; ++i) text += "o" + std::to_string(i) + " = 1\n";
  for (int i = 0; i < 1000; ++i) text += "[[grid]]\nmodel = \"m\"\n";
  EXPECT_THAT(error_of([&] { parse_study(text, "s.toml"); }, ErrorKind::usage),
              HasSubstr("more than 1000000 options and skip rules of [defaults] over all grids"));
}

}  // namespace
}  // namespace deepgap
