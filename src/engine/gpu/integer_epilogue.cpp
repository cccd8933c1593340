#include "engine/gpu/integer_epilogue.h"

#include "engine/gpu/kernel_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace deepgap::gpu {
namespace {

using Kind = EpilogueStep::Kind;

// Added to a float below 2^22 in size, it leaves a whole number in the last places.
constexpr float magic = 12582912.0F;

bool is_integer(Element element) { return element == Element::i8 || element == Element::u8; }
int lowest(Element element) { return element == Element::i8 ? -128 : 0; }

// The stored integer of a real number, before it is cut to the type's range.
int place_of(const Epilogue& epilogue, float real) {
  const float place = std::nearbyint(real * epilogue.target_inverse) + static_cast<float>(epilogue.target_zero);
  return static_cast<int>(std::clamp(place, -1000.0F, 1000.0F));
}

// Whole numbers are as well clamped after they are rounded.
void clamp_to(const Epilogue& epilogue, const EpilogueStep& step, IntegerEpilogue& end) {
  end.low = std::max(end.low, place_of(epilogue, step.low));
  end.high = std::min(end.high, place_of(epilogue, step.high));
}

// {0}, {1}: what scale and bias are multiplied with and added to; {2}: the place within the range, from 0 to 1; {3}, {4}: that times the
// range, in the last places of a float.
constexpr std::string_view text = R"(
__device__ __forceinline__ float table_scale(float scale) {{ return scale * {0}; }}
__device__ __forceinline__ float table_bias(float bias) {{ return fmaf(bias, {0}, {1}); }}
__device__ __forceinline__ float unit_of(float a, float b, float c) {{
  float v;
  asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(v) : "f"(a), "f"(b), "f"(c));
  return v;
}}
__device__ __forceinline__ float end_value(float sum, float scale, float bias, float residual) {{ return {2}; }}
template <int N> __device__ __forceinline__ void put_values(unsigned* words, const float (&v)[N]) {{
  unsigned q[N < 4 ? 4 : N];
#pragma unroll
  for (int i = 0; i < N; i++) q[i] = __float_as_uint(fmaf(v[i], {3}, {4}));
#pragma unroll
  for (int i = N; i < 4; i++) q[i] = 0;
#pragma unroll
  for (int i = 0; i < N; i += 4)
    words[i / 4] = __byte_perm(__byte_perm(q[i], q[i + 1], 0x0040), __byte_perm(q[i + 2], q[i + 3], 0x0040), 0x5410);
}}
__device__ __forceinline__ float stored_number(float value) {{ return fmaf(value, {3}, {4}) - 12582912.0f; }}
)";

// With scales that are powers of two, as some quantizers choose them, many sums lie halfway between two integers, and dividing by a
// range of 255 would lose on which side of it.
bool has_halves(float scale) {
  int exponent = 0;
  return std::frexp(scale, &exponent) == 0.5F;
}

// To 0 .. 1 over a range of whole numbers.
struct Unit {
  float scale, offset;
};
Unit unit_of(float inverse, int zero, int low, int high) {
  const auto range = static_cast<float>(high - low);
  return {inverse / range, static_cast<float>(zero - low) / range};
}

}  // namespace

std::optional<IntegerEpilogue> integer_epilogue(const Epilogue& epilogue) {
  if (!is_integer(epilogue.target) || has_halves(epilogue.target_inverse)) return std::nullopt;
  IntegerEpilogue end;
  end.low = lowest(epilogue.target);
  end.high = end.low + 255;
  auto step = epilogue.steps.begin();
  const auto is = [&](Kind kind) { return step != epilogue.steps.end() && step->kind == kind; };
  if (is(Kind::round)) end.round = *step++;
  if (end.round && has_halves(end.round->scale)) return std::nullopt;
  if (is(Kind::add)) end.adds = true, ++step;
  while (is(Kind::clamp)) clamp_to(epilogue, *step++, end);
  return step == epilogue.steps.end() && end.low < end.high ? std::optional(end) : std::nullopt;
}

std::string integer_epilogue_text(const Epilogue& epilogue, const IntegerEpilogue& end) {
  const bool scaled = is_integer(epilogue.residual);
  const Unit last = unit_of(epilogue.target_inverse, epilogue.target_zero, end.low, end.high);
  const float added = last.scale * (scaled ? epilogue.residual_scale : 1.0F);
  const float offset = last.offset - (end.adds && scaled ? static_cast<float>(epilogue.residual_zero) * added : 0.0F);
  Unit first{last.scale, offset};
  std::string sums = "unit_of(sum, scale, bias)";
  if (end.adds) sums = fmt::format("unit_of(residual, {}, fmaf(sum, scale, bias))", literal(added));
  if (end.round) {
    const EpilogueStep& round = *end.round;
    const int low = lowest(round.integer);
    first = unit_of(1 / round.scale, round.zero, low, low + 255);
    const std::string whole = fmt::format("fmaf(unit_of(sum, scale, bias), 255.0f, {}) - {}", literal(magic + static_cast<float>(low)),
                                          literal(magic + static_cast<float>(round.zero)));
    const std::string rest = end.adds ? fmt::format("fmaf(residual, {}, {})", literal(added), literal(offset)) : literal(offset);
    sums = fmt::format("unit_of({}, {}, {})", whole, literal(round.scale * last.scale), rest);
  }
  return fmt::format(text, literal(first.scale), literal(first.offset), sums, literal(static_cast<float>(end.high - end.low)),
                     literal(magic + static_cast<float>(end.low)));
}

}  // namespace deepgap::gpu
