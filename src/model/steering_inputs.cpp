#include "model/steering_inputs.h"

#include "base/words.h"
#include "model/graph_tools.h"
#include "model/input_uses.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace deepgap {
namespace {

using Numbers = std::vector<double>;

// Of an axis, where its length is known.
Numbers length_of(const InputUse& use, size_t input, int64_t axis) {
  const auto length = use.size(input, axis);
  return length && *length > 0 ? Numbers{static_cast<double>(*length)} : Numbers{};
}

struct SteeringUse {
  std::string_view op;
  size_t input;
  const char* decides;  // with the operator for {}
  Numbers (*values)(const InputUse& use) = nullptr;
};

constexpr const char *sizes = "the sizes that {} makes", *which_part = "which part {} takes", *axes = "along which axes {} works",
                     *numbers = "how many numbers {} makes", *lengths = "how long the sequences of {} are";

Numbers sequence_length(const InputUse& use) { return length_of(use, 0, attribute_int(use.node, "layout", 0) == 1 ? 1 : 0); }

const std::vector<SteeringUse>& steering_uses() {
  static const std::vector<SteeringUse> all{
      {"TopK", 1, "how many values {} picks"},
      {"Reshape", 1, sizes},
      {"Expand", 1, sizes},
      {"ConstantOfShape", 0, sizes},
      {"Tile", 1, "how often {} repeats"},
      {"Resize", 2, sizes},
      {"Resize", 3, sizes},
      {"Upsample", 1, sizes},
      {"Pad", 1, "how much {} adds"},
      {"Pad", 3, axes},
      {"Slice", 1, which_part},
      {"Slice", 2, which_part},
      {"Slice", 3, which_part},
      {"Slice", 4, which_part},
      {"Split", 1, sizes},
      {"SplitToSequence", 1, sizes},
      {"CenterCropPad", 1, sizes},
      {"Col2Im", 1, sizes},
      {"Col2Im", 2, sizes},
      {"MaxUnpool", 2, sizes},
      {"AffineGrid", 1, sizes},
      {"Squeeze", 1, axes},
      {"Unsqueeze", 1, axes},
      {"Range", 0, numbers},
      {"Range", 1, numbers},
      {"Range", 2, numbers},
      {"OneHot", 1, numbers},
      {"HannWindow", 0, numbers},
      {"HammingWindow", 0, numbers},
      {"BlackmanWindow", 0, numbers},
      {"MelWeightMatrix", 0, numbers},
      {"MelWeightMatrix", 1, numbers},
      {"DFT", 1, numbers},
      {"STFT", 1, numbers},
      {"STFT", 3, numbers},
      {"Loop", 0, "how often {} runs"},
      {"Loop", 1, "whether {} runs", [](const InputUse&) { return Numbers{1}; }},
      {"If", 0, "which branch of {} runs"},
      {"NonMaxSuppression", 2, "how many boxes {} keeps"},
      {"NonMaxSuppression", 3, "how many boxes {} keeps", [](const InputUse&) { return Numbers{0.5}; }},
      {"NonMaxSuppression", 4, "how many boxes {} keeps", [](const InputUse&) { return Numbers{0}; }},
      {"CumSum", 1, axes, [](const InputUse& use) { return Numbers{use.dims(0) ? static_cast<double>(use.dims(0)->size()) - 1 : 0}; }},
      {"Trilu", 1, which_part, [](const InputUse&) { return Numbers{0}; }},
      {"Dropout", 2, "whether {} trains", [](const InputUse&) { return Numbers{0}; }},
      {"LSTM", 4, lengths, sequence_length},
      {"GRU", 4, lengths, sequence_length},
      {"RNN", 4, lengths, sequence_length},
      {"ReverseSequence", 1, lengths, [](const InputUse& use) { return length_of(use, 0, attribute_int(use.node, "time_axis", 0)); }},
  };
  return all;
}

const SteeringUse* steering_use(const InputUse& use) {
  static const SteeringUse reduced{"Reduce", 1, axes};
  if (!use.node.domain.empty()) return nullptr;
  if (use.node.op.starts_with("Reduce") && use.input == 1) return &reduced;
  const auto& all = steering_uses();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const SteeringUse& one) { return one.op == use.node.op && one.input == use.input; });
  return found == all.end() ? nullptr : &*found;
}

// At batch 1; nullopt: not known.
std::optional<int64_t> elements_of(const Value& input) {
  if (!input.dims) return std::nullopt;
  int64_t count = 1;
  for (const Dim& dim : *input.dims) {
    if (!dim.known() && dim.symbol != batch_symbol) return std::nullopt;
    count *= std::clamp<int64_t>(dim.size, 0, 1 << 20);
    count = std::min<int64_t>(count, 1 << 20);
  }
  return count;
}

// An input of many numbers is data, whatever is reckoned from it.
bool may_steer(const Value& input) {
  constexpr int64_t most_numbers = 64;
  const auto count = elements_of(input);
  return count ? *count <= most_numbers : !input.dims || input.dims->size() <= 1;
}

std::string example_of(const Value& input) {
  if (input.type == DataType::boolean) return input.name + "=true";
  const int64_t count = elements_of(input).value_or(1);
  if (count == 4) return input.name + "=1,3,224,224";
  std::string text = input.name + "=5";
  for (int64_t i = 1; i < std::min<int64_t>(count, 8); ++i) text += ",5";
  return text;
}

}  // namespace

std::vector<SteeringInput> steering_inputs(const Graph& graph) {
  std::vector<SteeringInput> found;
  for (const ValueId id : graph.inputs) {
    const Value& input = graph.values[static_cast<size_t>(id)];
    if (!may_steer(input)) continue;
    std::optional<SteeringInput> steering;
    visit_uses(graph, id, true, [&](const InputUse& use) {
      const SteeringUse* one = steering_use(use);
      if (one == nullptr) return;
      const Numbers values = one->values == nullptr || use.computed ? Numbers{} : one->values(use);
      if (steering && (steering->values.empty() || !values.empty())) return;  // what must be asked for goes before what is known
      const std::string node = fmt::format("{} (node '{}')", use.node.op, use.node.name);
      steering = SteeringInput{input.name, fmt::format(fmt::runtime(one->decides), node), values, example_of(input)};
    });
    if (steering) found.push_back(std::move(*steering));
  }
  return found;
}

InputNumbers with_given(const std::vector<SteeringInput>& steering, const InputNumbers& given) {
  InputNumbers all = given;
  for (const SteeringInput& input : steering)
    if (!input.values.empty()) all.emplace(input.name, input.values);
  return all;
}

void require_steering(const std::vector<SteeringInput>& steering, const InputNumbers& given, const std::string& dataset,
                      const std::string& model) {
  if (dataset != "seeded" && dataset != "zeros") return;
  for (const SteeringInput& input : steering) {
    if (!input.values.empty() || given.contains(input.name)) continue;
    throw Error(ErrorKind::usage, printable(fmt::format("{}: input '{}' decides {}; give it with --dataset FOLDER or --input {}", model,
                                                        input.name, input.decides, input.example)));
  }
}

}  // namespace deepgap
