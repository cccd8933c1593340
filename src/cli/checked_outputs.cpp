#include "cli/checked_outputs.h"

#include "cli/child.h"
#include "cli/class_scores.h"
#include "model/onnx_test_set.h"
#include "worker/node_check.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <filesystem>

namespace deepgap {
namespace {

using nlohmann::json;

constexpr const char* outputs_command = "__outputs";
constexpr const char* nodes_command = "__nodes";

// Some of a sample's outputs; `more`: others follow in another frame.
Frame frame_of(const std::string& sample, std::span<const TensorView> outputs, bool more) {
  Frame frame;
  frame.header = {{"kind", "sample"}, {"name", sample}, {"more", more}, {"outputs", json::array()}};
  for (const TensorView& output : outputs) {
    frame.header["outputs"].push_back(
        {{"type", static_cast<int>(output.type)}, {"shape", Shape(output.shape.begin(), output.shape.end())}});
    frame.blocks.emplace_back(reinterpret_cast<const char*>(output.data), output.bytes());
  }
  return frame;
}

void send_sample(const std::string& sample, std::span<const TensorView> outputs, FrameWriter& to) {
  do {
    const auto now = outputs.first(std::min(outputs.size(), max_blocks));
    outputs = outputs.subspan(now.size());
    to.write(frame_of(sample, now, !outputs.empty()));
  } while (!outputs.empty());
}

void add_outputs(const Frame& frame, CheckedSample& sample) {
  size_t block = 0;
  for (const auto& output : frame.header.at("outputs")) {
    Tensor tensor = make_tensor(static_cast<DataType>(output.at("type").get<int>()), output.at("shape").get<Shape>());
    const std::string& bytes = frame.blocks.at(block++);
    if (bytes.size() != tensor.bytes()) throw Error(ErrorKind::internal, "an output has the wrong number of bytes");
    std::memcpy(writable<std::byte>(tensor).data(), bytes.data(), bytes.size());
    sample.outputs.push_back(std::move(tensor));
  }
}

json answer_outputs(const json& request, FrameWriter& before) {
  const auto send = [&](const std::string& sample, std::span<const TensorView> outputs) { send_sample(sample, outputs, before); };
  const OutputsMade made = compute_outputs(outputs_request_from_json(request), send);
  return {{"version", made.version},
          {"judged_as", name_of(made.judged_as)},
          {"outputs", made.outputs},
          {"random", made.random},
          {"overflow", made.overflow}};
}

json answer_nodes(const json& request, FrameWriter& /*before*/) {
  const NodeChecks checks = check_nodes(outputs_request_from_json(request));
  json nodes = json::array();
  for (const NodeCheck& node : checks.nodes)
    nodes.push_back({{"name", node.name},
                     {"op", node.op},
                     {"quantized", node.quantized},
                     {"sqnr_db", node.sqnr_db},
                     {"quanta", node.quanta ? json(*node.quanta) : json()}});
  return {{"version", checks.version}, {"samples", checks.samples}, {"nodes", std::move(nodes)}};
}

const bool registered = add_child_command(outputs_command, answer_outputs) && add_child_command(nodes_command, answer_nodes);

std::string subject_of(const OutputsRequest& request) { return fmt::format("{} with {}", request.backend, request.model.name); }

}  // namespace

CheckedOutputs outputs_of(const OutputsRequest& request) {
  CheckedOutputs outputs;
  bool more = false;
  const auto take = [&](const Frame& frame) {
    if (!more) outputs.samples.push_back({frame.header.at("name"), {}});
    add_outputs(frame, outputs.samples.back());
    frame.header.at("more").get_to(more);
  };
  const json answer = call_child({outputs_command, subject_of(request), outputs_request_to_json(request), take});
  answer.at("version").get_to(outputs.version);
  outputs.judged_as = precision_from(answer.at("judged_as").get_ref<const std::string&>()).value();
  answer.at("outputs").get_to(outputs.names);
  answer.at("random").get_to(outputs.random);
  answer.at("overflow").get_to(outputs.overflow);
  return outputs;
}

json nodes_of(const OutputsRequest& request) { return call_child({nodes_command, subject_of(request), outputs_request_to_json(request)}); }

void require_no_nan(const CheckedOutputs& expected) {
  for (const CheckedSample& sample : expected.samples) {
    for (const Tensor& output : sample.outputs) {
      if (holds_nan(output.view()))
        throw Error(ErrorKind::input,
                    fmt::format("{} returns NaN for sample {}, so outputs cannot be compared; check the weights and the inputs",
                                expected.version, sample.name));
    }
  }
}

CheckedOutputs outputs_in_folder(const std::string& folder, const std::vector<std::string>& names) {
  CheckedOutputs outputs{.version = folder, .names = names};
  for (const std::string& set : onnx_test_sets(folder)) {
    CheckedSample sample{std::filesystem::path(set).filename().string(), {}};
    for (TestTensor& expected : test_outputs(set, names)) sample.outputs.push_back(std::move(expected.tensor));
    outputs.samples.push_back(std::move(sample));
  }
  return outputs;
}

CheckResult compare(const CheckedOutputs& expected, const CheckedOutputs& actual, double min_db) {
  if (expected.samples.size() != actual.samples.size()) throw Error(ErrorKind::internal, "the two sides ran different numbers of samples");
  OutputComparison comparison;
  for (size_t i = 0; i < actual.samples.size(); ++i) {
    const auto& want = expected.samples[i].outputs;
    const auto& got = actual.samples[i].outputs;
    if (want.size() != got.size()) {
      throw Error(ErrorKind::input,
                  fmt::format("sample {}: {} outputs on one side, {} on the other", actual.samples[i].name, got.size(), want.size()));
    }
    for (size_t output = 0; output < want.size(); ++output) comparison.add(output, want[output].view(), got[output].view());
  }
  CheckResult result = comparison.result(min_db);
  result.against = expected.version;
  result.samples = static_cast<int64_t>(actual.samples.size());
  return result;
}

std::optional<double> Confident::agreement() const {
  if (samples == 0) return std::nullopt;
  return static_cast<double>(same) / static_cast<double>(samples);
}

Confident confident_agreement(const CheckedOutputs& expected, const CheckedOutputs& actual, double margin) {
  Confident result;
  for (size_t i = 0; i < actual.samples.size(); ++i) {
    if (!is_class_output(expected.samples[i].outputs) || !is_class_output(actual.samples[i].outputs)) continue;
    const auto best = best_classes(expected.samples[i].outputs[0], 2);
    if (best[0].probability - best[1].probability < margin) continue;
    ++result.samples;
    if (best_classes(actual.samples[i].outputs[0], 1)[0].index == best[0].index) ++result.same;
  }
  return result;
}

}  // namespace deepgap
