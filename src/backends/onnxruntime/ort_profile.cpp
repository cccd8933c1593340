#include "backends/onnxruntime/ort_profile.h"

#include "backends/common/precision_tally.h"
#include "backends/onnxruntime/ort_failure.h"
#include "backends/onnxruntime/ort_slot.h"
#include "base/json_words.h"
#include "base/private_folder.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace deepgap {
namespace {

using nlohmann::json;

constexpr std::string_view time_suffix = "_kernel_time";
constexpr int profiled_runs = 4;  // the first ones are slower, the last one counts

// Ends the profiling; the file's name.
std::string end_profiling(const OrtNetwork& network) {
  OrtAllocator* allocator = nullptr;
  char* name = nullptr;
  ort().call(ort_default_allocator, &allocator);
  ort().call(ort_end_profiling, network.session.get(), allocator, &name);
  std::string path = name;
  ort().call(ort_allocator_free, allocator, name);
  return path;
}

std::string first_input_type(const json& arguments) {
  const auto inputs = arguments.find("input_type_shape");
  if (inputs == arguments.end() || !inputs->is_array() || inputs->empty() || !inputs->front().is_object() || inputs->front().empty())
    return "";
  return inputs->front().begin().key();
}

OrtNodeRun node_run(const json& event) {
  std::string name = event.at("name").get<std::string>();
  name.resize(name.size() - time_suffix.size());
  const json& arguments = event.at("args");
  return {std::move(name), arguments.at("op_name").get<std::string>(), first_input_type(arguments), event.at("dur").get<int64_t>() * 1000};
}

bool multiplies(std::string_view op) {
  constexpr std::array<std::string_view, 4> parts{"Conv", "Gemm", "MatMul", "Attention"};
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return op.find(part) != std::string_view::npos; });
}

// Returns deepgap's name for it; a type without one keeps the library's name.
std::string precision_name(const std::string& type) {
  if (type == "uint8" || type == "int8") return "int8";
  if (type == "float") return "fp32";
  if (type == "float16") return "fp16";
  if (type == "bfloat16") return "bf16";
  return type;
}

// Names the precision of weights in a few bits; 4 bits if the file does not say.
std::string precision_of_few_bits(const Model& model) {
  for (const Node& node : model.graph().nodes) {
    if (node.op != "MatMulNBits") continue;
    const auto bits = node.attributes.find("bits");
    const auto* number = bits == node.attributes.end() ? nullptr : std::get_if<int64_t>(&bits->second);
    return fmt::format("int{}", number == nullptr ? 4 : *number);
  }
  return "int4";
}

// An operator that reads floats and quantizes them itself multiplies integers.
std::string precision_of(const OrtNodeRun& node, const Model& model) {
  if (node.op == "MatMulNBits") return precision_of_few_bits(model);
  if (node.op.starts_with("DynamicQuantize") || node.op.starts_with("MatMulInteger") || node.op == "ConvInteger" || node.op == "QAttention")
    return "int8";
  return precision_name(node.input_type);
}

}  // namespace

std::vector<OrtNodeRun> parse_ort_profile(const std::string& text) {
  std::vector<OrtNodeRun> nodes;
  bool ended = false;
  try {
    for (const json& event : json::parse(text)) {
      const std::string name = event.at("name").get<std::string>();
      if (name == "model_run") ended = true;  // written when the run ends
      if (name == "model_loading_array" || name == "session_initialization") nodes.clear();
      if (event.value("cat", "") != "Node" || !name.ends_with(time_suffix)) continue;
      if (ended) nodes.clear();
      ended = false;
      nodes.push_back(node_run(event));
    }
  } catch (const json::exception& failure) {
    throw Error(ErrorKind::internal, fmt::format("onnxruntime's profile cannot be read: {}", json_words(failure)));
  }
  return nodes;
}

std::vector<OrtNodeRun> profile_ort_network(const Model& model, const LoadOptions& options, const OrtSettings& settings) {
  const PrivateFolder folder("ort");
  const OrtNetwork network = open_ort_network(model, options, settings, folder / "profile");
  try {
    OrtSlot slot(network);
    for (int run = 0; run < profiled_runs; ++run) slot.run(network.max_batch);  // inputs are zeros
    return parse_ort_profile(read_text(end_profiling(network)));
  } catch (const OrtFailure& failure) {
    throw load_error(failure, model.graph());
  }
}

PrecisionShares ort_precision_shares(const std::vector<OrtNodeRun>& nodes, const Model& model) {
  PrecisionTally tally(model);
  for (const OrtNodeRun& node : nodes) {
    if (!multiplies(node.op)) continue;
    const std::string precision = precision_of(node, model);
    if (!tally.computed_up_to(node.name, precision)) tally.computed_elsewhere(precision);
  }
  return tally.shares();
}

}  // namespace deepgap
