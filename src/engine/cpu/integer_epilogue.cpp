#include "engine/cpu/integer_epilogue.h"

#include "engine/cpu/attention_softmax.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace deepgap {
namespace {

size_t residual_bytes(const IntegerEpilogue& e) {
  for (const auto& stage : e.stages)
    if (stage.kind == IntegerEpilogue::Stage::Kind::residual) return byte_size(stage.residual);
  return 0;
}

}  // namespace

int64_t IntegerEpilogue::bytes_by_channel() const { return static_cast<int64_t>(byte_size(result) + residual_bytes(*this)); }

void IntegerEpilogue::finish() {
  const auto size = static_cast<size_t>(channels + integer_tile_columns);
  scale.resize(size, 0);
  bias.resize(size, 0);
  for (Stage& stage : stages)
    if (!stage.channels.empty()) stage.channels.resize(size, 0);
  quick_ = quick_form();
}

std::optional<IntegerEpilogue::Quick> IntegerEpilogue::quick_form() const {
  if (result == DataType::f32) return std::nullopt;
  constexpr float beyond = 30000;  // more than integers of 8 bits, less than what a conversion to 32 holds
  Quick quick{.lowest = -beyond, .highest = beyond};
  size_t next = 0;
  const auto is_next = [&](Stage::Kind kind) { return next < stages.size() && stages[next].kind == kind; };
  float factor = quanta_per_unit;
  if (is_next(Stage::Kind::round)) {
    const Stage& stage = stages[next++];
    quick.rounds = true;
    quick.lowest_step = stage.lowest;
    quick.highest_step = stage.highest;
    quick.quanta_per_step = stage.step * quanta_per_unit;
    factor = stage.steps_per_unit;
  }
  if (is_next(Stage::Kind::residual) && stages[next].residual != DataType::f32) {
    const Stage& stage = stages[next++];
    quick.adds = true;
    quick.residual = stage.residual;
    quick.residual_quanta = stage.step * quanta_per_unit;
    quick.shift = -stage.zero * quick.residual_quanta;
  }
  if (is_next(Stage::Kind::activation)) {
    const Activation& activation = stages[next++].activation;
    if (activation.kind == ActivationKind::clip) {
      quick.lowest = std::clamp(activation.alpha * quanta_per_unit, -beyond, beyond);
      quick.highest = std::clamp(activation.beta * quanta_per_unit, -beyond, beyond);
    } else if (activation.kind == ActivationKind::relu) {
      quick.lowest = 0;
    } else {
      return std::nullopt;
    }
  }
  if (next != stages.size()) return std::nullopt;
  for (const float number : scale) quick.scale.push_back(number * factor);
  for (const float number : bias) quick.bias.push_back(number * factor + (quick.rounds ? 0 : quick.shift));
  return quick;
}

#if defined(__x86_64__)

namespace {

#define DEEPGAP_AVX2 [[gnu::target("avx2,fma"), gnu::always_inline]] inline

using Stage = IntegerEpilogue::Stage;
constexpr int lanes_of_floats = 8;

// Functions whose exponentials have arguments of 0 and less.
[[gnu::always_inline]] inline float tanh_of(float x) {
  const float e = attention_exponential(-2 * std::fabs(x));
  return std::copysign((1 - e) / (1 + e), x);
}
[[gnu::always_inline]] inline float erf_of(float x) {  // Abramowitz and Stegun 7.1.26, to 2e-7
  const float positive = std::fabs(x), t = 1 / (1 + 0.3275911F * positive);
  const float p = t * (0.254829592F + t * (-0.284496736F + t * (1.421413741F + t * (-1.453152027F + t * 1.061405429F))));
  return std::copysign(1 - p * attention_exponential(-positive * positive), x);
}

template <typename Function>
[[gnu::target("avx2,fma"), gnu::always_inline]] inline __m256 by_element(__m256 x, Function function) {
  alignas(32) float values[lanes_of_floats];
  _mm256_store_ps(values, x);
  for (float& value : values) value = function(value);
  return _mm256_load_ps(values);
}

// Those that are more than a few instructions: out of the way of the others.
[[gnu::target("avx2,fma"), gnu::noinline]] __m256 apply_curve(const Activation& activation, __m256 x) {
  switch (activation.kind) {
    case ActivationKind::sigmoid:
      return by_element(x, [](float v) {
        const float e = attention_exponential(-std::fabs(v));
        return (v >= 0 ? 1.0F : e) / (1 + e);
      });
    case ActivationKind::tanh:
      return by_element(x, [](float v) { return tanh_of(v); });
    case ActivationKind::elu:
      return by_element(x, [a = activation.alpha](float v) { return v < 0 ? a * (attention_exponential(std::min(v, 0.0F)) - 1) : v; });
    case ActivationKind::gelu_erf:
      return by_element(x, [](float v) { return 0.5F * v * (1 + erf_of(v * 0.70710678F)); });
    case ActivationKind::gelu_tanh:
      return by_element(x, [](float v) { return 0.5F * v * (1 + tanh_of(0.79788456F * (v + 0.044715F * v * v * v))); });
    default:
      return by_element(x, [](float v) { return std::max(v, 0.0F) + std::log1p(std::exp(-std::fabs(v))); });  // softplus
  }
}

DEEPGAP_AVX2 __m256 clip(__m256 x, float low, float high) {
  return _mm256_min_ps(_mm256_max_ps(x, _mm256_set1_ps(low)), _mm256_set1_ps(high));
}

DEEPGAP_AVX2 __m256 apply(const Activation& activation, __m256 x) {
  const __m256 zero = _mm256_setzero_ps(), alpha = _mm256_set1_ps(activation.alpha), beta = _mm256_set1_ps(activation.beta);
  switch (activation.kind) {
    case ActivationKind::relu:
      return _mm256_max_ps(x, zero);
    case ActivationKind::leaky_relu:
      return _mm256_blendv_ps(x, _mm256_mul_ps(x, alpha), x);  // by the sign bit
    case ActivationKind::clip:
      return clip(x, activation.alpha, activation.beta);
    case ActivationKind::hard_sigmoid:
      return clip(_mm256_fmadd_ps(x, alpha, beta), 0, 1);
    case ActivationKind::hard_swish:
      return _mm256_mul_ps(x, clip(_mm256_fmadd_ps(x, _mm256_set1_ps(1.0F / 6), _mm256_set1_ps(0.5F)), 0, 1));
    default:
      return apply_curve(activation, x);
  }
}

DEEPGAP_AVX2 __m256 load_residual(const Stage& stage, const std::byte* residual, int64_t at) {
  if (stage.residual == DataType::f32) return _mm256_loadu_ps(reinterpret_cast<const float*>(residual) + at);
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(residual + at));
  const __m256i wide = stage.residual == DataType::u8 ? _mm256_cvtepu8_epi32(bytes) : _mm256_cvtepi8_epi32(bytes);
  return _mm256_mul_ps(_mm256_sub_ps(_mm256_cvtepi32_ps(wide), _mm256_set1_ps(stage.zero)), _mm256_set1_ps(stage.step));
}

// `at`: where the eight channels are in residual; `channel`: the first of them.
DEEPGAP_AVX2 __m256 apply(const Stage& stage, __m256 x, int64_t channel, const std::byte* residual, int64_t at) {
  switch (stage.kind) {
    case Stage::Kind::activation:
      return apply(stage.activation, x);
    case Stage::Kind::round: {
      const __m256 steps =
          _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(stage.steps_per_unit)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
      return _mm256_mul_ps(clip(steps, stage.lowest, stage.highest), _mm256_set1_ps(stage.step));
    }
    case Stage::Kind::multiply:
      return _mm256_mul_ps(x, _mm256_loadu_ps(stage.channels.data() + channel));
    case Stage::Kind::add:
      return _mm256_add_ps(x, _mm256_loadu_ps(stage.channels.data() + channel));
    default:
      return _mm256_add_ps(x, load_residual(stage, residual, at));
  }
}

// Halves to even, then the zero point, then the ends of the type.
DEEPGAP_AVX2 __m128i quantized(const IntegerEpilogue& e, __m256 low, __m256 high) {
  const __m256 quanta = _mm256_set1_ps(e.quanta_per_unit),
               most = _mm256_set1_ps(30000);  // beyond 2^31 the conversion would change the sign
  const __m256i first = _mm256_cvtps_epi32(_mm256_min_ps(_mm256_mul_ps(low, quanta), most));
  const __m256i second = _mm256_cvtps_epi32(_mm256_min_ps(_mm256_mul_ps(high, quanta), most));
  const __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi32(first, second), 0xD8);
  const __m256i shifted = _mm256_adds_epi16(both, _mm256_set1_epi16(static_cast<int16_t>(e.result_zero)));
  const __m128i a = _mm256_castsi256_si128(shifted), b = _mm256_extracti128_si256(shifted, 1);
  return e.result == DataType::u8 ? _mm_packus_epi16(a, b) : _mm_packs_epi16(a, b);
}

// Sixteen channels whose first is `channel`, `at` in result and residual.
[[gnu::target("avx2,fma")]] void write_sixteen(const IntegerEpilogue& e, const int32_t* sums, int64_t channel, const std::byte* residual,
                                               std::byte* target, int64_t at) {
  __m256 x[2];
  for (int v = 0; v < 2; ++v) {
    const int64_t c = channel + v * lanes_of_floats;
    x[v] = _mm256_cvtepi32_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums + v * lanes_of_floats)));
    x[v] = _mm256_fmadd_ps(x[v], _mm256_loadu_ps(e.scale.data() + c), _mm256_loadu_ps(e.bias.data() + c));
    for (const Stage& stage : e.stages) x[v] = apply(stage, x[v], c, residual, at + v * lanes_of_floats);
  }
  if (e.result == DataType::f32) {
    auto* numbers = reinterpret_cast<float*>(target) + at;
    _mm256_storeu_ps(numbers, x[0]);
    _mm256_storeu_ps(numbers + lanes_of_floats, x[1]);
  } else {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target + at), quantized(e, x[0], x[1]));
  }
}

}  // namespace

// `residual_kind`: 0 none, 1 unsigned, 2 signed.
template <bool rounds, int residual_kind>
[[gnu::target("avx2,fma")]] void IntegerEpilogue::write_quick(const int32_t* sums, const int64_t* pixels, int64_t rows, int64_t first,
                                                              const std::byte* residual, std::byte* target) const {
  const Quick& q = *quick_;
  const __m256 lowest = _mm256_set1_ps(q.lowest), highest = _mm256_set1_ps(q.highest), added = _mm256_set1_ps(q.residual_quanta);
  const __m256 lowest_step = _mm256_set1_ps(q.lowest_step), highest_step = _mm256_set1_ps(q.highest_step);
  const __m256 quanta = _mm256_set1_ps(q.quanta_per_step), shift = _mm256_set1_ps(q.shift);
  const __m256i zero = _mm256_set1_epi16(static_cast<int16_t>(result_zero));
  const __m256 scales[2] = {_mm256_loadu_ps(q.scale.data() + first), _mm256_loadu_ps(q.scale.data() + first + lanes_of_floats)};
  const __m256 biases[2] = {_mm256_loadu_ps(q.bias.data() + first), _mm256_loadu_ps(q.bias.data() + first + lanes_of_floats)};
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t at = pixels[r] * channels + first;
    __m256i integers[2];
    for (int v = 0; v < 2; ++v) {
      const auto* sum = reinterpret_cast<const __m256i*>(sums + r * integer_tile_columns + v * lanes_of_floats);
      __m256 x = _mm256_fmadd_ps(_mm256_cvtepi32_ps(_mm256_loadu_si256(sum)), scales[v], biases[v]);
      if constexpr (rounds) {
        x = _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        x = _mm256_fmadd_ps(_mm256_min_ps(_mm256_max_ps(x, lowest_step), highest_step), quanta, shift);
      }
      if constexpr (residual_kind != 0) {
        const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(residual + at + v * lanes_of_floats));
        const __m256i wide = residual_kind == 1 ? _mm256_cvtepu8_epi32(bytes) : _mm256_cvtepi8_epi32(bytes);
        x = _mm256_fmadd_ps(_mm256_cvtepi32_ps(wide), added, x);
      }
      integers[v] = _mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(x, lowest), highest));
    }
    const __m256i both = _mm256_adds_epi16(_mm256_permute4x64_epi64(_mm256_packs_epi32(integers[0], integers[1]), 0xD8), zero);
    const __m128i low = _mm256_castsi256_si128(both), high = _mm256_extracti128_si256(both, 1);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target + at),
                     result == DataType::u8 ? _mm_packus_epi16(low, high) : _mm_packs_epi16(low, high));
  }
}

[[gnu::target("avx2,fma")]] void IntegerEpilogue::write_whole(const int32_t* sums, const int64_t* pixels, int64_t rows, int64_t first,
                                                              const std::byte* residual, std::byte* target) const {
  if (!quick_) {
    for (int64_t r = 0; r < rows; ++r)
      write_sixteen(*this, sums + r * integer_tile_columns, first, residual, target, pixels[r] * channels + first);
    return;
  }
  const bool rounds = quick_->rounds;
  if (!quick_->adds)
    return rounds ? write_quick<true, 0>(sums, pixels, rows, first, residual, target)
                  : write_quick<false, 0>(sums, pixels, rows, first, residual, target);
  if (quick_->residual == DataType::u8)
    return rounds ? write_quick<true, 1>(sums, pixels, rows, first, residual, target)
                  : write_quick<false, 1>(sums, pixels, rows, first, residual, target);
  return rounds ? write_quick<true, 2>(sums, pixels, rows, first, residual, target)
                : write_quick<false, 2>(sums, pixels, rows, first, residual, target);
}

void IntegerEpilogue::write(const int32_t* sums, const int64_t* pixels, int64_t rows, int64_t first, int64_t count,
                            const std::byte* residual, std::byte* target) const {
  if (count >= integer_tile_columns) return write_whole(sums, pixels, rows, first, residual, target);
  // Fewer than sixteen channels are left: through memory of its own, since whole vectors are read and written.
  alignas(32) std::byte read[integer_tile_columns * sizeof(float)] = {}, written[integer_tile_columns * sizeof(float)];
  const size_t read_size = residual_bytes(*this), written_size = byte_size(result), size = static_cast<size_t>(count);
  for (int64_t r = 0; r < rows; ++r) {
    const auto place = static_cast<size_t>(pixels[r] * channels + first);
    if (read_size != 0) std::memcpy(read, residual + place * read_size, size * read_size);
    write_sixteen(*this, sums + r * integer_tile_columns, first, read, written, 0);
    std::memcpy(target + place * written_size, written, size * written_size);
  }
}

#else

void IntegerEpilogue::write(const int32_t*, const int64_t*, int64_t, int64_t, int64_t, const std::byte*, std::byte*) const {}

#endif

}  // namespace deepgap
