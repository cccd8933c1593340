// When what an engine answers is right, in each precision.
#pragma once

#include <deepgap/tensor.h>

#include <span>
#include <string>
#include <vector>

namespace deepgap::conformance {

// One difference in words, or "" when they agree: same types and shapes; floats within what this precision, and another order of summation,
// can explain; integers the same bits.
std::string difference(const std::vector<Tensor>& expected, std::span<const TensorView> actual, const std::string& precision = "fp32");

// Of all float outputs together, in decibels; 300 when they are equal.
double sqnr_db(const std::vector<Tensor>& expected, std::span<const TensorView> actual);

}  // namespace deepgap::conformance
