#include "model/steering_inputs.h"

#include "base/text.h"
#include "base/words.h"
#include "model/graph_tools.h"
#include "model/input_uses.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

namespace deepgap {
namespace {

using Numbers = std::vector<double>;

// Returns the length of an axis, or nothing where it is not known.
Numbers length_of(const InputUse& use, size_t input, int64_t axis) {
  const auto length = use.size(input, axis);
  return length && *length > 0 ? Numbers{static_cast<double>(*length)} : Numbers{};
}

struct SteeringUse {
  std::string_view op;
  size_t input;
  const char* decides;  // with the operator for {}
  Numbers (*values)(const InputUse& use) = nullptr;
  std::string_view domain;
};

constexpr std::string_view microsoft = "com.microsoft";

constexpr const char *sizes = "the sizes that {} makes", *which_part = "which part {} takes", *axes = "along which axes {} works",
                     *numbers = "how many numbers {} makes", *lengths = "how long the sequences of {} are";

// The sizes that the file declares for the result, where the input says all of them and nothing else.
Numbers declared_sizes(const InputUse& use) {
  const Graph& graph = use.graph();
  const ValueId input = use.node.inputs[use.input];
  if (std::find(graph.inputs.begin(), graph.inputs.end(), input) == graph.inputs.end() || use.node.outputs.front() == no_value) return {};
  const auto& dims = graph.values[static_cast<size_t>(use.node.outputs.front())].dims;
  const auto count = use.size(use.input, 0);
  if (!dims || !count || static_cast<size_t>(*count) != dims->size()) return {};
  Numbers declared;
  for (const Dim& dim : *dims) {
    if (!dim.known() || dim.size == 0) return {};
    declared.push_back(static_cast<double>(dim.size));
  }
  return declared;
}

Numbers ones(const InputUse& /*use*/) { return {1}; }

Numbers sequence_length(const InputUse& use) { return length_of(use, 0, attribute_int(use.node, "layout", 0) == 1 ? 1 : 0); }

const std::vector<SteeringUse>& steering_uses() {
  static const std::vector<SteeringUse> all{
      {"TopK", 1, "how many values {} picks"},
      {"Reshape", 1, sizes, declared_sizes},
      {"Expand", 1, sizes, declared_sizes},
      {"ConstantOfShape", 0, sizes, declared_sizes},
      {"Tile", 1, "how often {} repeats"},
      {"Resize", 2, sizes},
      {"Resize", 3, sizes, declared_sizes},
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
      {"Dropout", 1, "how much {} drops", [](const InputUse&) { return Numbers{0.5}; }},
      {"Dropout", 2, "whether {} trains", [](const InputUse&) { return Numbers{0}; }},
      {"LSTM", 4, lengths, sequence_length},
      {"GRU", 4, lengths, sequence_length},
      {"RNN", 4, lengths, sequence_length},
      {"CropAndResize", 3, sizes, nullptr, microsoft},
      {"ExpandDims", 1, axes, nullptr, microsoft},
      {"Pad", 1, "how much {} adds", nullptr, microsoft},
      {"Range", 0, numbers, nullptr, microsoft},
      {"Range", 1, numbers, nullptr, microsoft},
      {"Range", 2, numbers, nullptr, microsoft},
      {"Trilu", 1, which_part, [](const InputUse&) { return Numbers{0}; }, microsoft},
      {"ReverseSequence", 1, lengths, [](const InputUse& use) { return length_of(use, 0, attribute_int(use.node, "time_axis", 0)); }},
  };
  return all;
}

// Repeats the corners of one box for each that the input has room for.
Numbers boxes_of(const InputUse& use, const Numbers& corners) {
  constexpr int64_t most_boxes = 1 << 16;
  const auto count = use.size(use.input, 0), width = use.size(use.input, 1);
  if (!count || *count > most_boxes || !width || static_cast<size_t>(*width) != corners.size()) return {};
  Numbers boxes;
  for (int64_t i = 0; i < *count; ++i) boxes.insert(boxes.end(), corners.begin(), corners.end());
  return boxes;
}

// Returns the image's last coordinate on this axis. The feature map is smaller by spatial_scale.
double far_corner(const InputUse& use, int64_t axis) {
  const double scale = attribute_float(use.node, "spatial_scale", 1);
  return static_cast<double>(use.size(0, axis).value_or(1)) / (scale > 0 ? scale : 1);
}

Numbers whole_maps(const InputUse& use) {
  Numbers corners{0, 0, far_corner(use, 3), far_corner(use, 2)};
  if (use.node.op == "MaxRoiPool") corners.insert(corners.begin(), 0);  // the first image
  return boxes_of(use, corners);
}

// The starts of all axes, then their ends. Other modes of Resize do not read them.
Numbers whole_image(const InputUse& use) {
  const auto dims = use.dims(use.input);
  const auto count = use.size(use.input, 0);
  if (!dims || dims->size() != 1 || !count || *count > 64) return {};
  Numbers corners(static_cast<size_t>(*count), 0);
  std::fill(corners.begin() + *count / 2, corners.end(), 1);
  return corners;
}

// Finds inputs that hold any number of boxes. Made-up corners would lie in any order, and no operator defines that.
const SteeringUse* box_use(const InputUse& use) {
  static const std::vector<SteeringUse> all{{"RoiAlign", 1, which_part, whole_maps},
                                            {"MaxRoiPool", 1, which_part, whole_maps},
                                            {"Resize", 1, which_part, whole_image},
                                            {"CropAndResize", 1, which_part,
                                             [](const InputUse& one) {
                                               return boxes_of(one, {0, 0, 1, 1});
                                             },
                                             microsoft}};
  const auto found = std::find_if(all.begin(), all.end(), [&](const SteeringUse& one) {
    return one.op == use.node.op && one.input == use.input && one.domain == use.node.domain;
  });
  return found == all.end() ? nullptr : &*found;
}

// Finds uses for which tensors of any size work: a mask takes everything, and no divisor is 0.
const SteeringUse* masking_use(const InputUse& use) {
  static const std::vector<SteeringUse> all{{"Compress", 1, which_part, ones},
                                            {"NonZero", 0, "how many places {} finds", ones},
                                            {"Div", 1, "by what {} divides", ones},
                                            {"Mod", 1, "by what {} divides", ones}};
  if (const SteeringUse* boxes = box_use(use)) return boxes;
  if (!use.node.domain.empty() || !use.is_whole()) return nullptr;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const SteeringUse& one) { return one.op == use.node.op && one.input == use.input; });
  return found == all.end() ? nullptr : &*found;
}

const SteeringUse* steering_use(const InputUse& use) {
  static const SteeringUse reduced{"Reduce", 1, axes};
  if (use.node.domain.empty() && use.node.op.starts_with("Reduce") && use.input == 1) return &reduced;
  const auto& all = steering_uses();
  const auto found = std::find_if(all.begin(), all.end(), [&](const SteeringUse& one) {
    return one.op == use.node.op && one.input == use.input && one.domain == use.node.domain;
  });
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

// An input of many numbers is data, whatever is computed from it.
bool may_steer(const Value& input) {
  constexpr int64_t most_numbers = 64;
  const auto count = elements_of(input);
  return count ? *count <= most_numbers : !input.dims || input.dims->size() <= 1;
}

// One number that the operator takes in most networks; 5 where none is as good as another.
int64_t usual_number(const InputUse& use) {
  const std::string_view op = use.node.op;
  if (op == "Pad" || op == "Squeeze" || op == "Unsqueeze" || op == "ExpandDims" || op.starts_with("Reduce")) return 0;
  if (op == "Slice") return use.input == 2 ? 5 : use.input == 4 ? 1 : 0;
  if (op == "Range" && use.input != 1) return use.input == 2 ? 1 : 0;
  return op == "Tile" || op == "Expand" ? 1 : 5;
}

// Splits an axis into parts as even as they can be.
std::vector<std::string> even_parts(int64_t length, int64_t count) {
  std::vector<std::string> texts(static_cast<size_t>(count), std::to_string(length / count));
  texts.back() = std::to_string(length - length / count * (count - 1));
  return texts;
}

// Returns the channels of pictures; 3 where they are not known.
int64_t channels_of(const InputUse& use) {
  const auto dims = use.dims(0);
  return dims && dims->size() == 4 ? use.size(0, 1).value_or(3) : 3;
}

// Returns an example for --input that the network accepts, as far as this can be inferred.
std::string example_of(const Value& input, const InputUse& use) {
  if (input.type == DataType::boolean) return input.name + "=true";
  const int64_t count = std::clamp<int64_t>(elements_of(input).value_or(1), 1, 8);
  std::vector<std::string> texts(static_cast<size_t>(count), std::to_string(usual_number(use)));
  if (use.node.op == "Resize" && use.input == 3 && count == 4) texts = {"1", std::to_string(channels_of(use)), "224", "224"};
  if (((use.node.op == "Resize" && use.input == 2) || use.node.op == "Upsample") && count == 4) texts = {"1", "1", "2", "2"};
  if (use.node.op.starts_with("Split"))
    if (const auto length = use.size(0, attribute_int(use.node, "axis", 0)); length && elements_of(input) == count)
      texts = even_parts(*length, count);
  if (use.node.op == "Reshape") {  // the first sizes as they are, the rest in one
    std::fill(texts.begin(), texts.end(), "0");
    texts.back() = "-1";
  }
  return fmt::format("{}={}", input.name, join(texts, ","));
}

// Returns the numbers of the network's input that arrive at the use as `wanted`; empty where no whole numbers do.
Numbers numbers_before(const InputUse& use, const Numbers& wanted) {
  Numbers numbers;
  for (const double number : wanted) {
    const auto range = use.before_way({number, number});
    if (!range || range->least != range->most || (use.computed() && std::floor(range->least) != range->least)) return {};
    numbers.push_back(range->least);
  }
  return numbers;
}

}  // namespace

std::vector<SteeringInput> steering_inputs(const Graph& graph) {
  std::vector<SteeringInput> found;
  for (const ValueId id : graph.inputs) {
    const Value& input = graph.values[static_cast<size_t>(id)];
    const bool small = may_steer(input);
    std::optional<SteeringInput> steering;
    visit_uses(graph, id, true, [&](const InputUse& use) {
      const SteeringUse* one = small ? steering_use(use) : nullptr;
      const SteeringUse* masking = one == nullptr ? masking_use(use) : nullptr;
      if (masking != nullptr) one = masking;
      if (one == nullptr) return;
      const Numbers values = one->values == nullptr ? Numbers{} : numbers_before(use, one->values(use));
      if (masking != nullptr && values.empty()) return;                       // behind a comparison, for example, it counts as data
      if (steering && (steering->values.empty() || !values.empty())) return;  // what must be asked for goes before what is known
      const std::string node = fmt::format("{} (node '{}')", use.node.op, use.node.name);
      steering = SteeringInput{input.name, fmt::format(fmt::runtime(one->decides), node), values, example_of(input, use),
                               one->values == declared_sizes && !values.empty()};
    });
    if (steering) found.push_back(std::move(*steering));
  }
  return found;
}

namespace {

std::string numbers_text(const Numbers& given) {
  std::vector<std::string> texts;
  for (const double number : given) texts.push_back(fmt::format("{:g}", number));
  return join(texts, ",");
}

std::string input_text(const std::string& name, const Numbers& given) { return name + "=" + numbers_text(given); }

}  // namespace

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
    if (const auto found = given.find(input.name); input.is_declared && found != given.end() && found->second != input.values)
      throw Error(
          ErrorKind::usage,
          printable(fmt::format("{}: --input {} contradicts the file, which declares {} as the sizes that '{}' decides; leave it out",
                                model, input_text(input.name, found->second), numbers_text(input.values), input.name)));
    if (!input.values.empty() || given.contains(input.name)) continue;
    throw Error(ErrorKind::usage, printable(fmt::format("{}: input '{}' decides {}; give it with --dataset FOLDER or --input {}", model,
                                                        input.name, input.decides, input.example)));
  }
}

}  // namespace deepgap
