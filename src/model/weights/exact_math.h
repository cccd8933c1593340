// Elementary functions made of additions, multiplications, divisions and square roots only, so that seeded values have the same bits
// wherever arithmetic is IEEE 754 (the C library's own functions differ between versions). Compiled without contraction.
#pragma once

#include <span>

namespace deepgap {

double exact_log(double x);            // x positive, normal; within 2 units in the last place
double exact_sine_of_turns(double t);  // sin(2 pi t), |t| below 2^50; absolute error below 1e-15
double normal_quantile(double u);      // quantile of the standard normal, 0 < u < 1: Wichura's AS 241 (PPND16), relative error about 1e-16
// Each number by its quantile, to the same bits. So many as eight divides.
void normal_quantiles(std::span<double> values);

}  // namespace deepgap
