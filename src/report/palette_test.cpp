#include "report/palette.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace deepgap {
namespace {

using Triple = std::array<double, 3>;
using Matrix = std::array<Triple, 3>;

Triple times(const Matrix& m, const Triple& v) {
  Triple out{};
  for (size_t i = 0; i < 3; ++i) out[i] = m[i][0] * v[0] + m[i][1] * v[1] + m[i][2] * v[2];
  return out;
}

Triple linear_rgb(std::string_view hex) {
  Triple rgb{};
  for (size_t i = 0; i < 3; ++i) {
    const double c = std::stoi(std::string(hex.substr(1 + 2 * i, 2)), nullptr, 16) / 255.0;
    rgb[i] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  }
  return rgb;
}

double luminance(std::string_view hex) {
  const Triple rgb = linear_rgb(hex);
  return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
}

// WCAG 2.1, 1.4.11.
double contrast(std::string_view a, std::string_view b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

// Ottosson's OKLab, in which equal distances look about equally far apart.
Triple oklab(const Triple& rgb) {
  constexpr Matrix to_cones{
      {{0.4122214708, 0.5363325363, 0.0514459929}, {0.2119034982, 0.6806995451, 0.1073969566}, {0.0883024619, 0.2817188376, 0.6299787005}}};
  constexpr Matrix to_lab{{{0.2104542553, 0.7936177850, -0.0040720468},
                           {1.9779984951, -2.4285922050, 0.4505937099},
                           {0.0259040371, 0.7827717662, -0.8086757660}}};
  Triple clipped = rgb;
  for (double& c : clipped) c = std::clamp(c, 0.0, 1.0);
  Triple cones = times(to_cones, clipped);
  for (double& c : cones) c = std::cbrt(c);
  return times(to_lab, cones);
}

// Machado, Oliveira, Fernandes, "A physiologically-based model for simulation of color vision deficiency", IEEE TVCG 15 (2009), severity 1.
constexpr Matrix normal{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
constexpr Matrix protanopia{{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}};
constexpr Matrix deuteranopia{{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}};
constexpr Matrix tritanopia{{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}};

double difference(std::string_view a, std::string_view b, const Matrix& eye) {
  const Triple p = oklab(times(eye, linear_rgb(a))), q = oklab(times(eye, linear_rgb(b)));
  return std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}

TEST(Palette, the_measures_themselves_are_right) {
  EXPECT_NEAR(contrast("#000000", "#ffffff"), 21, 1e-9);
  EXPECT_NEAR(oklab(linear_rgb("#ffffff"))[0], 1, 1e-3);
  EXPECT_LT(difference("#d1600a", "#8f7000", protanopia), 0.01) << "a pair known to be alike must be seen as such";
}

TEST(Palette, every_line_stands_out_from_the_page_and_from_every_other_for_every_eye) {
  for (const Palette& palette : {light_palette, dark_palette}) {
    for (size_t i = 0; i < palette_size; ++i) {
      EXPECT_GE(contrast(palette.lines[i], palette.page), 3) << palette.lines[i];
      for (size_t j = 0; j < i; ++j) {
        for (const Matrix& eye : {normal, protanopia, deuteranopia, tritanopia}) {
          EXPECT_GE(difference(palette.lines[i], palette.lines[j], eye), 0.095) << palette.lines[i] << " " << palette.lines[j];
        }
      }
    }
  }
}

}  // namespace
}  // namespace deepgap
