#include "quantize/settings.h"

#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

struct Reader {
  const std::string& prefix;

  [[noreturn]] void wrong(const std::string& name, const std::string& value, const std::string& wanted) const {
    throw Error(ErrorKind::usage, fmt::format("invalid value '{2}' for {0}{1}: expected {3}", prefix, name, value, wanted));
  }
  std::string word(const std::string& name, const std::string& value, const std::vector<std::string>& known) const {
    if (std::find(known.begin(), known.end(), value) != known.end()) return value;
    throw Error(ErrorKind::usage, unknown_name(prefix + name, value, known));
  }
  int64_t whole(const std::string& name, const std::string& value, int64_t least, int64_t most) const {
    const auto number = parse_int(value);
    if (!number || *number < least || *number > most) wrong(name, value, fmt::format("a whole number from {} to {}", least, most));
    return *number;
  }
  double number(const std::string& name, const std::string& value, double least, double most) const {
    const auto number = parse_double(value);
    if (!number || *number < least || *number > most) wrong(name, value, fmt::format("a number from {:g} to {:g}", least, most));
    return *number;
  }
};

}  // namespace

std::vector<QuantizeOption> quantize_options() {
  const QuantizeSettings normal;
  const auto values = quantize_options_of(normal);
  std::vector<QuantizeOption> options{
      {"method", "method that chooses ranges: minmax, percentile, entropy", ""},
      {"percentile", "percentile of the magnitudes, for method percentile", ""},
      {"activations", "type of activations: u8 (zero point 0, or 128 where a value may be negative) or s8 (zero point 0)", ""},
      {"keep", "nodes that stay in FP32: auto (nodes whose error is too large), none, or names joined by commas", ""},
      {"min_sqnr_db", "lowest SQNR in dB of a node in INT8, for keep=auto", ""},
      {"min_output_sqnr_db", "lowest SQNR in dB of the outputs, below which the worst nodes stay in FP32, for keep=auto", ""},
      {"dataset", "dataset for calibration: auto, seeded, pictures, crops, or a path", ""},
      {"samples", "samples for calibration", ""},
      {"seed", "seed of a seeded dataset for calibration", ""}};
  for (QuantizeOption& option : options) option.default_value = values.at(option.name);
  return options;
}

QuantizeSettings quantize_settings(const std::map<std::string, std::string>& options, const std::string& prefix) {
  QuantizeSettings settings;
  const Reader read{prefix};
  for (const auto& [name, value] : options) {
    if (name == "method") {
      settings.method = read.word(name, value, {"minmax", "percentile", "entropy"});
    } else if (name == "percentile") {
      settings.percentile = read.number(name, value, 50, 100);
    } else if (name == "activations") {
      settings.activations = read.word(name, value, {"u8", "s8"});
    } else if (name == "keep") {
      settings.keep = value.empty() ? "none" : value;
    } else if (name == "min_sqnr_db") {
      settings.min_sqnr_db = read.number(name, value, -300, 300);
    } else if (name == "min_output_sqnr_db") {
      settings.min_output_sqnr_db = read.number(name, value, -300, 300);
    } else if (name == "dataset") {
      settings.dataset = value;
    } else if (name == "samples") {
      settings.samples = read.whole(name, value, 1, 65'536);
    } else if (name == "seed") {
      settings.seed = static_cast<uint64_t>(read.whole(name, value, 0, INT64_MAX));
    } else {
      std::vector<std::string> known;
      for (const QuantizeOption& option : quantize_options()) known.push_back(option.name);
      throw Error(ErrorKind::usage, unknown_name("option of quantizing", name, known));
    }
  }
  return settings;
}

std::map<std::string, std::string> quantize_options_of(const QuantizeSettings& settings) {
  return {{"method", settings.method},
          {"percentile", fmt::format("{:g}", settings.percentile)},
          {"activations", settings.activations},
          {"keep", settings.keep},
          {"min_sqnr_db", fmt::format("{:g}", settings.min_sqnr_db)},
          {"min_output_sqnr_db", fmt::format("{:g}", settings.min_output_sqnr_db)},
          {"dataset", settings.dataset},
          {"samples", std::to_string(settings.samples)},
          {"seed", std::to_string(settings.seed)}};
}

}  // namespace deepgap
