// Pieces that texts of numbers are made of.
#pragma once

#include <string>

namespace deepgap {

// Returns the position of the first digit: 0 for 1 to 9.99, -2 for 0.01.
int magnitude(double value);
// Groups the digits of the whole part from five on: 12,300.
std::string with_commas(std::string text);

}  // namespace deepgap
