#include "blame.h"

#include "kept_case.h"
#include "rig.h"

#include "base/subprocess.h"
#include "base/text.h"
#include "model/onnx_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>

namespace deepgap::conformance {
namespace {

namespace fs = std::filesystem;

bool is_strict = false;

struct Elsewhere {
  enum class Answer { right, wrong, unknown } answer = Answer::unknown;
  std::string words;  // how it was tried, and what came out
};

fs::path own_program() { return fs::read_symlink("/proc/self/exe"); }

std::string last_line(const std::string& text) {
  std::string last;
  for (const std::string& line : split(text, '\n'))
    if (!trim(line).empty()) last = trim(line);
  return last;
}

struct Ended {
  bool done = false;
  ExitState state;
  std::string last_words;
};

Ended run(const std::string& program, std::vector<std::string> arguments, const std::map<std::string, std::string>& environment = {}) {
  arguments.insert(arguments.begin(), program);
  SubprocessOptions options{.program = program, .arguments = std::move(arguments), .environment = environment};
  Subprocess child(options);
  const auto state = child.wait(std::chrono::minutes(10));
  child.drain_output();
  return {state.has_value(), state.value_or(ExitState{}), last_line(child.output_tail())};
}

// What the engine's own interface answers.
Elsewhere by_own_interface(const std::string& engine, const KeptCase& kept, const std::vector<Tensor>& expected, const Judge& judge) {
  using Answer = Elsewhere::Answer;
  const char* named = std::getenv("DEEPGAP_PLAIN_ENGINES");  // for the suite's own test
  const fs::path program = (named == nullptr ? own_program().parent_path() : fs::path(named)) / ("deepgap_plain_" + engine);
  if (!fs::exists(program)) return {Answer::unknown, fmt::format("{} is not here to ask {} without deepgap", program.string(), engine)};
  const Ended ended = run(program.string(), {kept.folder, kept.precision, std::to_string(kept.threads)});
  if (!ended.done) return {Answer::wrong, fmt::format("{} by its own interface does not end", engine)};
  if (ended.state.signal != 0) return {Answer::wrong, fmt::format("{} by its own interface is {}", engine, ended.state.describe())};
  if (ended.state.code == 3) return {Answer::wrong, fmt::format("{} by its own interface fails: {}", engine, ended.last_words)};
  if (ended.state.code != 0) return {Answer::unknown, fmt::format("{} could not be asked without deepgap: {}", engine, ended.last_words)};
  if (expected.empty()) return {Answer::right, fmt::format("{} by its own interface answers", engine)};
  std::vector<Tensor> answers;
  for (size_t i = 0; i < expected.size(); ++i) answers.push_back(read_tensor_proto(fmt::format("{}/plain_{}.pb", kept.folder, i)));
  std::vector<TensorView> views;
  for (const Tensor& answer : answers) views.push_back(answer.view());
  const Difference found = judge(expected, views);
  if (found.none()) return {Answer::right, fmt::format("{} by its own interface is right", engine)};
  return {Answer::wrong, fmt::format("{} by its own interface is wrong, too: {}", engine, found.words)};
}

// An engine that reads no ONNX files, asked by the same calls in FP32 in its plainest way: on the fewest instructions, or without what it
// does to a graph.
struct PlainWay {
  std::string words;
  std::vector<std::string> options;
  std::map<std::string, std::string> environment;
};
std::optional<PlainWay> plain_way(const std::string& engine) {
  if (engine == "libtorch")
    return PlainWay{
        "libtorch in FP32 on the fewest instructions", {}, {{"ATEN_CPU_CAPABILITY", "default"}, {"ONEDNN_MAX_CPU_ISA", "SSE41"}}};
  if (engine == "tensorflow")
    return PlainWay{"tensorflow in FP32 without Grappler and oneDNN", {"--option", "grappler=off", "--option", "onednn=off"}, {}};
  if (engine == "xla")
    return PlainWay{"xla in FP32 without optimization of its code", {}, {{"XLA_FLAGS", "--xla_backend_optimization_level=0"}}};
  return std::nullopt;
}

Elsewhere in_plain_way(const std::string& engine, const PlainWay& way, const KeptCase& kept) {
  using Answer = Elsewhere::Answer;
  std::vector<std::string> arguments{"--backend", engine, "--try", kept.folder, "--precision", "fp32"};
  arguments.insert(arguments.end(), way.options.begin(), way.options.end());
  const Ended ended = run(own_program().string(), arguments, way.environment);
  if (!ended.done) return {Answer::wrong, way.words + " does not end"};
  if (ended.state.ok()) return {Answer::right, way.words + " is right"};
  if (ended.state.code == 1 || ended.state.signal != 0) return {Answer::wrong, way.words + " is wrong, too: " + ended.last_words};
  return {Answer::unknown, way.words + " could not be asked: " + ended.last_words};
}

struct Verdict {
  bool engines = false;
  std::string words;
};

Verdict verdict(const std::string& engine, const KeptCase& kept, const std::vector<Tensor>& expected, const Judge& judge) {
  using Answer = Elsewhere::Answer;
  if (const auto way = plain_way(engine)) {
    const Elsewhere found = in_plain_way(engine, *way, kept);
    return {found.answer == Answer::right, found.words};
  }
  if (engine == "openvino" || engine == "onnxruntime") {
    if (!given_options().empty()) return {false, "with --option nobody but deepgap can be asked"};
    const Elsewhere found = by_own_interface(engine, kept, expected, judge);
    return {found.answer == Answer::wrong, found.words};
  }
  return {false, "nobody but deepgap can be asked"};
}

std::string repeat(const std::string& engine, const KeptCase& kept) {
  return fmt::format("deepgap_conformance --backend {} --try {}", engine, kept.folder);
}

}  // namespace

void set_strict_engines(bool strict) { is_strict = strict; }

std::string blame(const Difference& wrong, const std::vector<Tensor>& expected, const Judge& judge) {
  const std::string engine = backend().name();
  if (faults_folder().empty()) {  // native and null
    ADD_FAILURE() << wrong.words;
    return "";
  }
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  const KeptCase kept = keep_fault(fmt::format("{} {}", info->test_suite_name(), info->name()), expected, wrong.words);
  const Verdict found = verdict(engine, kept, expected, judge);
  const std::string words = fmt::format("{}: {}; {}; kept: {}", engine, wrong.words, found.words, repeat(engine, kept));
  if (!found.engines || is_strict) {
    std::error_code ignored;
    fs::remove(kept.folder + "/fault.txt", ignored);  // a failure that the test has reported
    ADD_FAILURE() << words;
    return "";
  }
  fmt::print("FAULT {}\n", words);
  return "its own fault: " + words;
}

std::string fault_in_small_network() {
  const GraphModel model(small_network(seed()));
  Random random(seed() + 1);
  const Samples samples = random_samples(random, model.graph(), 1);
  Rig rig(model, {1});
  rig.stage(samples);
  const Status status = rig.run(0, {0});
  const std::vector<Tensor> expected = reference(model.graph(), samples, {0});
  const Judge judge = within_tolerance("fp32");
  const Difference wrong =
      status == Status::ok ? judge(expected, rig.session->outputs(0)) : Difference{Difference::Kind::failure, rig.last_error()};
  return wrong.none() ? "" : blame(wrong, expected, judge);
}

std::string blame_crash(const std::string& backend, const std::string& test, const std::string& how, bool& own) {
  own = true;
  if (!fs::exists(running_folder())) return fmt::format("{}: {} in {}", backend, how, test);
  const KeptCase kept = keep_fault(test, {}, how);
  const Verdict found = verdict(backend, kept, {}, {});
  own = !found.engines || is_strict;
  return fmt::format("{}: {} in {}; {}; kept: {}", backend, how, test, found.words, repeat(backend, kept));
}

}  // namespace deepgap::conformance
