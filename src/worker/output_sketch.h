// OutputSketch: what a network answered, so small that it can be held against what another process answered, without the outputs: for the
// contenders of a duel, which have no common reference where they are two files.
//
// Each output's numbers are added up, with a sign drawn for each place, in 512 buckets (count sketch: Charikar, Chen and Farach-Colton,
// ICALP 2002; Alon, Matias and Szegedy, STOC 1996). The squares of the buckets of a difference add up to those of the difference of the
// outputs, within some 6 %: the signal-to-noise ratio comes out to a quarter of a dB. Plain values; pure functions.
#pragma once

#include <deepgap/tensor.h>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

struct OutputSketch {
  struct Output {
    int64_t elements = 0;
    std::vector<double> buckets;
  };
  std::vector<Output> outputs;  // empty: none were looked at
  double min_sqnr_db = 0;       // what its own network and precision are held to (check.h)
};

// Sketches the first of `items` that the outputs hold one behind the other, or all of an output that does not have so many rows.
OutputSketch sketch_of(std::span<const TensorView> outputs, int64_t items);
nlohmann::json sketch_to_json(const OutputSketch& sketch);
OutputSketch sketch_from_json(const nlohmann::json& json);  // throws Error{input}

// Says how the outputs differ; empty: by no more than `min_sqnr_db` allows for any output, or there is nothing to compare.
std::string difference_words(const OutputSketch& first, const OutputSketch& second, double min_sqnr_db);

}  // namespace deepgap
