// The user's settings for quantizing. Plain data; options of a Point and flags of `deepgap quantize` are both read into it.
#pragma once

#include "base/option_table.h"

#include <cstdint>
#include <string>

namespace deepgap {

struct QuantizeSettings {
  std::string method = "minmax";   // how a range is chosen from what was observed: minmax, percentile, entropy (range.h)
  double percentile = 99.99;       // percentile of the magnitudes, for method percentile: 50 to 100
  std::string activations = "u8";  // u8: zero point 0, or 128 where a value may be negative; s8: zero point 0
  std::string keep = "auto";       // auto, none, or names of nodes joined by commas: what stays in FP32
  double min_sqnr_db = 20;         // for keep=auto: a node below this stays in FP32
  double min_output_sqnr_db = 12;  // for keep=auto: while outputs are below this, the worst nodes stay in FP32 too
  std::string dataset = "auto";    // auto: pictures for trained weights of the zoo, seeded for seeded ones, else the Point's own
  int64_t samples = 32;            // at most as many as the Dataset has
  uint64_t seed = 2;               // seed of a seeded Dataset; the samples that are checked come from seed 1

  bool operator==(const QuantizeSettings&) const = default;
};

const OptionTable<QuantizeSettings>& quantize_options();

}  // namespace deepgap
