#include "worker/check.h"

#include "base/number_type.h"
#include "base/text.h"
#include "model/eval/half.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace deepgap {
namespace {

constexpr double equal_db = 300;

template <typename T>
double element(const std::byte* data, size_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

}  // namespace

double element_of(const TensorView& view, size_t index) {
  if (view.type == DataType::f16) return to_float(Half{static_cast<uint16_t>(element<uint16_t>(view.data, index))});
  if (view.type == DataType::bf16) return to_float(Bfloat16{static_cast<uint16_t>(element<uint16_t>(view.data, index))});
  if (view.type == DataType::boolean) return element<uint8_t>(view.data, index);
  return of_number(
      view.type, [&]<typename T>(T) { return element<T>(view.data, index); }, [] { return 0.0; });
}

namespace {

std::string shape_text(const TensorView& view) {
  std::vector<std::string> sizes;
  for (int64_t size : view.shape) sizes.push_back(std::to_string(size));
  return fmt::format("{}[{}]", name_of(view.type), join(sizes, ","));
}

// Scores of one picture: [1, classes] or [classes].
bool is_ranking(const TensorView& view) {
  const bool real = view.type == DataType::f32 || view.type == DataType::f64 || view.type == DataType::f16 || view.type == DataType::bf16;
  return real && !view.shape.empty() && view.shape.size() <= 2 && view.shape.back() > 1 && element_count(view.shape) == view.shape.back();
}

size_t largest(const TensorView& view) {
  size_t best = 0;
  const auto count = static_cast<size_t>(element_count(view.shape));
  for (size_t i = 1; i < count; ++i) {
    if (element_of(view, i) > element_of(view, best)) best = i;
  }
  return best;
}

}  // namespace

void OutputComparison::add(size_t output, const TensorView& expected, const TensorView& actual) {
  if (expected.type != actual.type || !std::equal(expected.shape.begin(), expected.shape.end(), actual.shape.begin(), actual.shape.end())) {
    throw Error(ErrorKind::input, fmt::format("output {} is {}, the reference is {}", output, shape_text(actual), shape_text(expected)));
  }
  if (output == 0) ++samples_;
  outputs_.resize(std::max(outputs_.size(), output + 1));
  Power& power = outputs_[output];
  const auto count = static_cast<size_t>(element_count(expected.shape));
  for (size_t i = 0; i < count; ++i) {
    const double want = element_of(expected, i), got = element_of(actual, i);
    ++elements_;
    if (want == got || (std::isnan(want) && std::isnan(got))) {
      if (std::isfinite(want)) power.reference += want * want;
      continue;
    }
    if (!std::isfinite(want) || !std::isfinite(got)) {
      broken_ = true;
      continue;
    }
    const double error = std::abs(got - want);
    power.reference += want * want;
    power.error += error * error;
    absolute_error_ += error;
    max_error_ = std::max(max_error_, error);
  }
  if (is_ranking(expected)) {
    ++top1_asked_;
    if (largest(expected) == largest(actual)) ++top1_same_;
  }
}

bool holds_nan(const TensorView& view) {
  const auto count = static_cast<size_t>(element_count(view.shape));
  for (size_t i = 0; i < count; ++i) {
    if (std::isnan(element_of(view, i))) return true;
  }
  return false;
}

double OutputComparison::Power::sqnr_db() const {
  if (error == 0) return equal_db;
  return reference == 0 ? -equal_db : std::clamp(10 * std::log10(reference / error), -equal_db, equal_db);
}

double OutputComparison::worst_sqnr_db() const {
  Power all;
  double worst = equal_db;
  for (const Power& power : outputs_) {
    all.reference += power.reference;
    all.error += power.error;
    if (power.reference > 0) worst = std::min(worst, power.sqnr_db());
  }
  return std::min(worst, all.sqnr_db());
}

CheckResult OutputComparison::result(double min_sqnr_db) const {
  CheckResult result;
  result.samples = samples_;
  result.max_abs_error = max_error_;
  result.mean_abs_error = elements_ == 0 ? 0 : absolute_error_ / static_cast<double>(elements_);
  result.sqnr_db = worst_sqnr_db();
  if (broken_) {
    result.sqnr_db = -equal_db;
    result.max_abs_error = result.mean_abs_error = INFINITY;
  }
  if (top1_asked_ > 0) result.top1_agreement = static_cast<double>(top1_same_) / static_cast<double>(top1_asked_);
  result.min_sqnr_db = min_sqnr_db;
  result.pass = !broken_ && samples_ > 0 && elements_ > 0 && result.sqnr_db >= min_sqnr_db;
  return result;
}

std::string below_words(double sqnr_db, Precision judged, double asked_db) {
  constexpr int most_decimals = 4;
  int decimals = 1;
  const auto text = [&](double db) { return fmt::format("{:.{}f}", db, decimals); };
  while (sqnr_db < asked_db && decimals < most_decimals && text(sqnr_db) == text(asked_db)) ++decimals;
  return fmt::format("{} dB, {} asks for {:g} dB", text(sqnr_db), name_of(judged), asked_db);
}

std::string mismatch_words(const CheckResult& result, Precision judged) {
  const std::string head = fmt::format("outputs differ from the {}: ", result.against);
  if (!std::isfinite(result.max_abs_error)) return head + "NaN or infinity where the reference is finite";
  return fmt::format("{}SQNR {} (largest error {:.3g})", head,
                     below_words(result.sqnr_db, judged, result.min_sqnr_db.value_or(min_sqnr_db(judged))), result.max_abs_error);
}

std::string random_words(const std::string& node) {
  return fmt::format("no reference: {} draws random numbers, so that every engine's outputs differ", node);
}

std::string overflow_words(const std::string& overflow) {
  return fmt::format("no reference: {}, so that outputs depend on where an engine rounds to 16 bits", overflow);
}

double min_sqnr_db(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return 60;
    case Precision::int8:
    case Precision::fp8:
    case Precision::fp4:
      return 10;
    case Precision::bf16:
    case Precision::fp16:
    case Precision::mixed:
    case Precision::tf32:  // its factors have as many bits as fp16's
      return 20;
  }
  return 60;
}

}  // namespace deepgap
