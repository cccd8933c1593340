#include "worker/output_sketch.h"

#include "base/json_fields.h"
#include "worker/check.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <cmath>

namespace deepgap {
namespace {

constexpr uint64_t bucket_count = 512;

// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014: the finalizer of SplitMix64.
uint64_t mixed(uint64_t index) {
  uint64_t z = (index + 1) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

OutputSketch::Output sketch_of(const TensorView& view, int64_t items) {
  const bool by_items = !view.shape.empty() && items > 0 && view.shape[0] == items;
  OutputSketch::Output output{element_count(view.shape) / (by_items ? items : 1), std::vector<double>(bucket_count)};
  for (int64_t i = 0; i < output.elements; ++i) {
    const double value = element_of(view, static_cast<size_t>(i));
    const uint64_t place = mixed(static_cast<uint64_t>(i));
    if (std::isfinite(value)) output.buckets[place % bucket_count] += (place >> 63) == 0 ? value : -value;
  }
  return output;
}

double sqnr_db(const OutputSketch::Output& first, const OutputSketch::Output& second) {
  double signal = 0, noise = 0;
  for (size_t i = 0; i < first.buckets.size(); ++i) {
    signal += first.buckets[i] * first.buckets[i];
    noise += (first.buckets[i] - second.buckets[i]) * (first.buckets[i] - second.buckets[i]);
  }
  if (noise == 0) return INFINITY;
  return signal == 0 ? -INFINITY : 10 * std::log10(signal / noise);
}

}  // namespace

OutputSketch sketch_of(std::span<const TensorView> outputs, int64_t items) {
  OutputSketch sketch;
  for (const TensorView& view : outputs) sketch.outputs.push_back(sketch_of(view, items));
  return sketch;
}

template <typename V>
void fields(V& visit, OutputSketch::Output& output) {
  visit("elements", output.elements);
  visit("buckets", output.buckets);
}

template <typename V>
void fields(V& visit, OutputSketch& sketch) {
  visit("min_sqnr_db", sketch.min_sqnr_db);
  visit("outputs", sketch.outputs);
}

nlohmann::json sketch_to_json(const OutputSketch& sketch) { return json_of(sketch); }

OutputSketch sketch_from_json(const nlohmann::json& json) {
  auto sketch = json_to<OutputSketch>(json, "sketch of outputs");
  for (const OutputSketch::Output& output : sketch.outputs) {
    if (output.buckets.size() != bucket_count) throw Error(ErrorKind::input, "damaged sketch of outputs: not as many buckets as there are");
  }
  return sketch;
}

std::string difference_words(const OutputSketch& first, const OutputSketch& second, double min_sqnr_db) {
  if (first.outputs.empty() || second.outputs.empty()) return {};
  if (first.outputs.size() != second.outputs.size())
    return fmt::format("{} outputs, where the first arm has {}", second.outputs.size(), first.outputs.size());
  for (size_t i = 0; i < first.outputs.size(); ++i) {
    if (first.outputs[i].elements != second.outputs[i].elements)
      return fmt::format("output {} holds {} numbers, the first arm's {}", i, second.outputs[i].elements, first.outputs[i].elements);
    const double db = sqnr_db(first.outputs[i], second.outputs[i]);
    if (db < min_sqnr_db)
      return fmt::format("output {} differs from the first arm's: SQNR {:.1f} dB, at least {:.0f} dB expected", i, db, min_sqnr_db);
  }
  return {};
}

}  // namespace deepgap
