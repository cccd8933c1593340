#include "model/zoo/options.h"

#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace deepgap {

int64_t int_option(const std::string& model, const std::string& key, const std::string& text, int64_t low, int64_t high) {
  const auto value = parse_int(text);
  if (!value || *value < low || *value > high)
    throw Error(ErrorKind::usage, fmt::format("model '{}': option {}={} is not a whole number from {} to {}", model, key, text, low, high));
  return *value;
}

double number_option(const std::string& model, const std::string& key, const std::string& text, double low, double high) {
  const auto value = parse_double(text);
  if (!value || !(*value >= low && *value <= high))
    throw Error(ErrorKind::usage, fmt::format("model '{}': option {}={} is not a number from {} to {}", model, key, text, low, high));
  return *value;
}

namespace {

double width_option(const std::string& model, const std::string& text) { return number_option(model, "width", text, 0.05, 8); }
double dropout_option(const std::string& model, const std::string& text) { return number_option(model, "dropout", text, 0, 0.99); }

}  // namespace

PictureOptions picture_options(const std::string& model, const ZooOptions& options, const PictureOptions& preset) {
  PictureOptions result = preset;
  for (const auto& [key, text] : options) {
    if (key == "width") {
      result.width = width_option(model, text);
    } else if (key == "classes") {
      result.classes = int_option(model, key, text, 1, 100'000);
    } else if (key == "image") {
      result.image = int_option(model, key, text, 32, 4096);
    } else if (key == "dropout" && preset.dropout >= 0) {
      result.dropout = dropout_option(model, text);
    } else {
      std::vector<std::string> known{"classes", "image", "width"};
      if (preset.dropout >= 0) known.emplace_back("dropout");
      throw Error(ErrorKind::usage, fmt::format("model '{}': {}", model, unknown_name("option", key, known)));
    }
  }
  return result;
}

TextOptions text_options(const std::string& model, const ZooOptions& options, const TextOptions& preset, int64_t longest) {
  TextOptions result = preset;
  for (const auto& [key, text] : options) {
    if (key == "width") {
      result.width = width_option(model, text);
    } else if (key == "sequence") {
      result.sequence = int_option(model, key, text, 1, longest);
    } else if (key == "dropout" && preset.dropout >= 0) {
      result.dropout = dropout_option(model, text);
    } else {
      std::vector<std::string> known{"sequence", "width"};
      if (preset.dropout >= 0) known.emplace_back("dropout");
      throw Error(ErrorKind::usage, fmt::format("model '{}': {}", model, unknown_name("option", key, known)));
    }
  }
  return result;
}

DecoderOptions decoder_options(const std::string& model, const ZooOptions& options, const DecoderOptions& preset) {
  DecoderOptions result = preset;
  for (const auto& [key, text] : options) {
    if (key == "layers") {
      result.layers = int_option(model, key, text, 1, 1024);
    } else if (key == "vocabulary") {
      result.vocabulary = int_option(model, key, text, 2, 1'000'000);
    } else if (key == "type") {
      const WeightFormat* format = find_weight_format(text);
      if (format == nullptr || format->block > 32)
        throw Error(ErrorKind::usage, fmt::format("model '{}': option type={}: expected f32, f16, bf16, q8_0, q4_0 or q4_1", model, text));
      result.type = format->type;
    } else {
      throw Error(ErrorKind::usage, fmt::format("model '{}': {}", model, unknown_name("option", key, {"layers", "type", "vocabulary"})));
    }
  }
  return result;
}

int64_t make_divisible(double value, int64_t divisor) {
  const auto rounded = static_cast<int64_t>(value + static_cast<double>(divisor) / 2) / divisor * divisor;
  const int64_t result = std::max(divisor, rounded);
  return static_cast<double>(result) < 0.9 * value ? result + divisor : result;
}

}  // namespace deepgap
