// Decides in each precision when an engine's answer is right.
#pragma once

#include <deepgap/tensor.h>

#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace deepgap::conformance {

// The difference between the expected results and an answer: none, or the first one found.
struct Difference {
  enum class Kind {
    none,
    values,    // floats: `sqnr_db` says how far that output is off
    integers,  // not the same bits
    form,      // another number of outputs, type or shape
    failure,   // no answer at all
  };
  Kind kind = Kind::none;
  std::string words;                                          // "" when they agree
  double sqnr_db = -std::numeric_limits<double>::infinity();  // ... also of infinities and NaNs in the wrong place

  bool none() const { return kind == Kind::none; }
};

// They agree when types and shapes are the same; floats within what this precision, and another order of summation, can explain; integers
// the same bits.
Difference compare(const std::vector<Tensor>& expected, std::span<const TensorView> actual, const std::string& precision = "fp32");
// Its words.
std::string difference(const std::vector<Tensor>& expected, std::span<const TensorView> actual, const std::string& precision = "fp32");

// Decides whether an answer, the second, is what it should be.
using Judge = std::function<Difference(const std::vector<Tensor>& expected, std::span<const TensorView> actual)>;
Judge within_tolerance(const std::string& precision);
// The same network: all floats together at least `least_db` near. A constant answer has at most 3 dB.
Judge same_network(double least_db);

// Returns the SQNR of all float outputs together, in decibels; 300 if they are equal.
double sqnr_db(const std::vector<Tensor>& expected, std::span<const TensorView> actual);

}  // namespace deepgap::conformance
