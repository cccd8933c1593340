// Compares outputs with a reference. Pure: numbers in, numbers out.
#pragma once

#include <deepgap/record.h>
#include <deepgap/tensor.h>

#include <span>
#include <string>
#include <vector>

namespace deepgap {

// Adds up errors over samples, for each output. The SQNR is that of the worst output; one that should be zero everywhere has none of its
// own and counts with all others. NaN or infinity where the reference is finite fails whatever the tolerance.
class OutputComparison {
 public:
  // `expected` and `actual` of one output of one sample, same shape and type, else throws Error{input}.
  void add(size_t output, const TensorView& expected, const TensorView& actual);
  CheckResult result(double min_sqnr_db) const;

 private:
  struct Power {
    double reference = 0, error = 0;  // sums of squares
    double sqnr_db() const;
  };
  double worst_sqnr_db() const;

  std::vector<Power> outputs_;
  double absolute_error_ = 0, max_error_ = 0;
  int64_t elements_ = 0, samples_ = 0, top1_same_ = 0, top1_asked_ = 0;
  bool broken_ = false;
};

// Returns the element as a double, whatever its type is.
double element_of(const TensorView& view, size_t index);

// A computed reference that holds NaN cannot be used: what equals it may be as wrong.
bool holds_nan(const TensorView& view);

// "18.5 dB, int8 asks for 20 dB", with the decimals that show which of them is less.
std::string below_words(double sqnr_db, Precision judged, double asked_db);
// Says which criterion a result that does not pass has failed, with its limit and value.
std::string mismatch_words(const CheckResult& result, Precision judged);

// Returns why nothing is compared where `node` draws random numbers.
std::string random_words(const std::string& node);
// Returns why outputs that differ are not called wrong, from ReferenceRun's `overflow`.
std::string overflow_words(const std::string& overflow);

// Returns the SQNR that a precision must reach against the FP32 reference (methodology.md): fp32 60 dB, tf32, bf16, fp16 and mixed 20, int8
// and fp8 10.
double min_sqnr_db(Precision precision);

}  // namespace deepgap
