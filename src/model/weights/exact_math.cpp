#include "model/weights/exact_math.h"

#include "model/weights/lanes.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace deepgap {

namespace {

// Coefficients from the constant term up. Of a number, or of several at a time: the same operations, so the same bits.
template <size_t N, typename Number>
[[gnu::always_inline]] inline void find_polynomial(const double (&coefficients)[N], const Number& x, Number& value) {
  value = Number{} + coefficients[N - 1];
#pragma GCC unroll 16
  for (size_t i = 2; i <= N; ++i) value = value * x + coefficients[N - i];
}

template <size_t N>
double polynomial(const double (&coefficients)[N], double x) {
  double value = 0;
  find_polynomial(coefficients, x, value);
  return value;
}

template <typename Number>
[[gnu::always_inline]] inline void find_central(const Number& q, Number& value) {
  static constexpr double a[] = {3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                 4.5921953931549871457e+4, 6.7265770927008700853e+4, 3.3430575583588128105e+4, 2.5090809287301226727e+3};
  static constexpr double b[] = {1.0,
                                 4.2313330701600911252e+1,
                                 6.8718700749205790830e+2,
                                 5.3941960214247511077e+3,
                                 2.1213794301586595867e+4,
                                 3.9307895800092710610e+4,
                                 2.8729085735721942674e+4,
                                 5.2264952788528545610e+3};
  const Number r = 0.180625 - q * q;
  Number above, below;
  find_polynomial(a, r, above);
  find_polynomial(b, r, below);
  value = q * (above / below);
}

double ratio_tail(double r) {
  static constexpr double c[] = {1.42343711074968357734e0, 4.63033784615654529590e0,  5.76949722146069140550e0,  3.64784832476320460504e0,
                                 1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static constexpr double d[] = {1.0,
                                 2.05319162663775882187e0,
                                 1.67638483018380384940e0,
                                 6.89767334985100004550e-1,
                                 1.48103976427480074590e-1,
                                 1.51986665636164571966e-2,
                                 5.47593808499534494600e-4,
                                 1.05075007164441684324e-9};
  return polynomial(c, r) / polynomial(d, r);
}

double ratio_far_tail(double r) {
  static constexpr double e[] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                                 2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                 2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static constexpr double f[] = {1.0,
                                 5.99832206555887937690e-1,
                                 1.36929880922735805310e-1,
                                 1.48753612908506148525e-2,
                                 7.86869131145613259100e-4,
                                 1.84631831751005468180e-5,
                                 1.42151175831644588870e-7,
                                 2.04426310338993978564e-15};
  return polynomial(e, r) / polynomial(f, r);
}

constexpr double most_central = 0.425;

// `q`: u - 0.5.
double tail_quantile(double u, double q) {
  const double r = std::sqrt(-exact_log(q < 0 ? u : 1 - u));
  const double value = r <= 5 ? ratio_tail(r - 1.6) : ratio_far_tail(r - 5);
  return q < 0 ? -value : value;
}

// Five of six lie in the middle: all are computed as if they did, then the others anew.
[[gnu::always_inline]] inline void quantiles_loop(std::span<double> values) {
  for (size_t i = 0; i < values.size(); i += 8) {
    double u[8], q[8];
    std::memcpy(u, &values[i], sizeof u);
    Eight all, central;
    std::memcpy(&all, u, sizeof u);
    all -= 0.5;
    find_central(all, central);
    std::memcpy(q, &all, sizeof q);
    std::memcpy(&values[i], &central, sizeof central);
    for (size_t k = 0; k < 8; ++k)
      if (!(std::fabs(q[k]) <= most_central)) values[i + k] = tail_quantile(u[k], q[k]);
  }
}

void quantiles_plain(std::span<double> values) { quantiles_loop(values); }
DEEPGAP_FOR_AVX512 void quantiles_avx512(std::span<double> values) { quantiles_loop(values); }

}  // namespace

// x = 2^k m with m near 1, and log m = 2 artanh s with s = (m - 1) / (m + 1), |s| < 0.172: eleven terms of its series.
double exact_log(double x) {
  const auto bits = std::bit_cast<uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffff) | 0x3ff0000000000000);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1), z = s * s;
  static constexpr double series[] = {1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
  constexpr double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;
  const double tail = 2 * s * z * polynomial(series, z) + exponent * ln2_low;
  return exponent * ln2_high + (2 * s + tail);
}

double exact_sine_of_turns(double t) {
  t -= std::nearbyint(t);  // now in [-1/2, 1/2]; the sine mirrors at a quarter turn
  if (t > 0.25) t = 0.5 - t;
  if (t < -0.25) t = -0.5 - t;
  const double y = 6.283185307179586477 * t, z = y * y;
  static constexpr double series[] = {1.0,
                                      -1.0 / 6,
                                      1.0 / 120,
                                      -1.0 / 5040,
                                      1.0 / 362880,
                                      -1.0 / 39916800,
                                      1.0 / 6227020800.0,
                                      -1.0 / 1307674368000.0,
                                      1.0 / 355687428096000.0,
                                      -1.0 / 121645100408832000.0,
                                      1.0 / 51090942171709440000.0};
  return y * polynomial(series, z);
}

double normal_quantile(double u) {
  const double q = u - 0.5;
  if (!(std::fabs(q) <= most_central)) return tail_quantile(u, q);
  double value = 0;
  find_central(q, value);
  return value;
}

void normal_quantiles(std::span<double> values) {
  static const auto quantiles = widest(quantiles_plain, quantiles_avx512);
  quantiles(values);
}

}  // namespace deepgap
