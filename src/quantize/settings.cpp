#include "quantize/settings.h"

namespace deepgap {
namespace {

OptionTable<QuantizeSettings> make_table() {
  using Settings = QuantizeSettings;
  OptionTable<Settings> table;
  table.word("method", "method that chooses ranges: minmax, percentile, entropy", &Settings::method, {"minmax", "percentile", "entropy"});
  table.number("percentile", "percentile of the magnitudes, for method percentile", &Settings::percentile, 50, 100);
  table.word("activations", "type of activations: u8 (zero point 0, or 128 where a value may be negative) or s8 (zero point 0)",
             &Settings::activations, {"u8", "s8"});
  table.parsed(
      {"keep", "nodes that stay in FP32: auto (nodes whose error is too large), none, or names joined by commas", ""}, "", &Settings::keep,
      [](const std::string& names) { return std::optional<std::string>(names.empty() ? "none" : names); },
      [](const std::string& names) { return names; });
  table.number("min_sqnr_db", "lowest SQNR in dB of a node in INT8, for keep=auto", &Settings::min_sqnr_db, -300, 300);
  table.number("min_output_sqnr_db", "lowest SQNR in dB of the outputs, below which the worst nodes stay in FP32, for keep=auto",
               &Settings::min_output_sqnr_db, -300, 300);
  table.text("dataset", "dataset for calibration: auto, seeded, pictures, crops, or a path", &Settings::dataset);
  table.count("samples", "samples for calibration", &Settings::samples, 1, 65'536);
  table.count("seed", "seed of a seeded dataset for calibration", &Settings::seed, 0);
  return table;
}

}  // namespace

const OptionTable<QuantizeSettings>& quantize_options() {
  static const OptionTable<QuantizeSettings> table = make_table();
  return table;
}

}  // namespace deepgap
