#include "tolerance.h"

#include "rig.h"

#include "model/eval/element_types.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace deepgap::conformance {
namespace {

// A result is right when its largest error is `noise` at most, whatever the result is: a long sum of numbers about 1 may come out near
// zero; or when that error is within this part of the largest value and the errors together are so far below the values.
struct Tolerance {
  double noise, part_of_largest, sqnr_db;
};

// fp32: Winograd's convolutions and blocked sums stay well below. Others: a rounding error is half a unit in the last place (2^-9 in bf16,
// 2^-12 with ten bits of mantissa) of what is multiplied; a few hundred of them add up like a random walk, and a network of a dozen layers
// passes them on. int8: requantizing rounds to another neighbour now and then, a step of 1/255 of a tensor's range, or two, and the
// reference is the quantized network itself.
Tolerance tolerance(const std::string& precision) {
  if (precision == "fp32") return {5e-6, 5e-5, 80};
  if (precision == "tf32" || precision == "fp16") return {4e-3, 8e-3, 48};
  if (precision == "int8") return {0, 6e-2, 25};
  return {3e-2, 6e-2, 30};  // bf16, mixed
}

Difference float_difference(std::span<const float> expected, std::span<const float> actual, const Tolerance& allowed) {
  using Kind = Difference::Kind;
  double largest = 0, worst = 0, reference_power = 0, error_power = 0;
  size_t where = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const bool same_special = std::isnan(expected[i]) ? std::isnan(actual[i]) : expected[i] == actual[i];
    if (!std::isfinite(expected[i]) || !std::isfinite(actual[i])) {
      if (!same_special) return {Kind::values, fmt::format("element {}: {} instead of {}", i, actual[i], expected[i])};
      continue;
    }
    const double error = std::abs(double{expected[i]} - actual[i]);
    largest = std::max(largest, std::abs(double{expected[i]}));
    reference_power += double{expected[i]} * expected[i];
    error_power += error * error;
    if (error > worst) worst = error, where = i;
  }
  const double sqnr_db = error_power > 0 ? 10 * std::log10(reference_power / error_power) : 300;
  if (worst <= allowed.noise || (worst <= allowed.part_of_largest * largest && sqnr_db >= allowed.sqnr_db)) return {};
  return {Kind::values, fmt::format("element {}: {} instead of {} ({:.1f} dB)", where, actual[where], expected[where], sqnr_db), sqnr_db};
}

bool is_float(DataType type) { return type == DataType::f32 || type == DataType::f64 || type == DataType::f16 || type == DataType::bf16; }

std::vector<float> as_floats(const TensorView& given) {
  const Tensor view{
      given.type, {given.shape.begin(), given.shape.end()}, std::shared_ptr<const std::byte>(std::shared_ptr<void>(), given.data)};
  const Tensor floats = converted(view, DataType::f32);
  return {floats.as<float>().begin(), floats.as<float>().end()};
}

// What numbers of 16 bits are computed in is at most as fine as they are.
std::string coarser(const std::string& precision, DataType type) {
  if (type == DataType::bf16) return "bf16";
  return type == DataType::f16 && precision == "fp32" ? "fp16" : precision;
}

}  // namespace

Difference compare(const std::vector<Tensor>& expected, std::span<const TensorView> actual, const std::string& precision) {
  using Kind = Difference::Kind;
  if (expected.size() != actual.size()) return {Kind::form, fmt::format("{} outputs instead of {}", actual.size(), expected.size())};
  for (size_t i = 0; i < expected.size(); ++i) {
    const Shape shape(actual[i].shape.begin(), actual[i].shape.end());
    if (actual[i].type != expected[i].type)
      return {Kind::form, fmt::format("output {} is {} instead of {}", i, name_of(actual[i].type), name_of(expected[i].type))};
    if (shape != expected[i].shape) return {Kind::form, fmt::format("output {} has shape {} instead of {}", i, shape, expected[i].shape)};
    if (!computes()) continue;
    Difference found;
    if (is_float(expected[i].type)) {
      found = float_difference(as_floats(expected[i].view()), as_floats(actual[i]), tolerance(coarser(precision, expected[i].type)));
    } else if (actual[i].bytes() != 0 && std::memcmp(expected[i].data.get(), actual[i].data, actual[i].bytes()) != 0) {
      found = {Kind::integers, "its integers differ"};
    }
    if (found.none()) continue;
    found.words = fmt::format("output {}, {}", i, found.words);
    return found;
  }
  return {};
}

std::string difference(const std::vector<Tensor>& expected, std::span<const TensorView> actual, const std::string& precision) {
  return compare(expected, actual, precision).words;
}

Judge within_tolerance(const std::string& precision) {
  return
      [precision](const std::vector<Tensor>& expected, std::span<const TensorView> actual) { return compare(expected, actual, precision); };
}

Judge same_network(double least_db) {
  return [least_db](const std::vector<Tensor>& expected, std::span<const TensorView> actual) -> Difference {
    const double sqnr = sqnr_db(expected, actual);
    if (!computes() || sqnr >= least_db) return {};
    return {Difference::Kind::values, fmt::format("{:.1f} dB", sqnr), sqnr};
  };
}

double sqnr_db(const std::vector<Tensor>& expected, std::span<const TensorView> actual) {
  double reference_power = 0, error_power = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].type != DataType::f32) continue;
    const auto right = expected[i].as<float>(), given = actual[i].as<float>();
    for (size_t k = 0; k < right.size(); ++k) {
      reference_power += double{right[k]} * right[k];
      error_power += (double{right[k]} - given[k]) * (double{right[k]} - given[k]);
    }
  }
  return error_power > 0 ? 10 * std::log10(reference_power / error_power) : 300;
}

}  // namespace deepgap::conformance
