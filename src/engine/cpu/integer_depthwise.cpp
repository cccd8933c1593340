#include "engine/cpu/integer_depthwise.h"

#include "base/rounding.h"
#include "engine/cpu/pieces.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace deepgap {
namespace {

constexpr int64_t channels_in_block = integer_tile_columns;
constexpr int64_t depthwise_slab_bytes = int64_t{48} << 10;
constexpr int pixels_at_once = 4;

#if defined(__x86_64__)

// Sixteen channels of one pixel, of which the first `count` are there.
[[gnu::target("avx2"), gnu::always_inline]] inline void to_floats(const std::byte* from, DataType type, __m256i zero, int64_t count,
                                                                  float* to) {
  alignas(16) std::byte part[channels_in_block] = {};
  if (count < channels_in_block) {
    std::memcpy(part, from, static_cast<size_t>(count));
    from = part;
  }
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)), high = _mm_srli_si128(bytes, 8);
  const bool is_signed = type == DataType::i8;
  const __m256i first = is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
  const __m256i second = is_signed ? _mm256_cvtepi8_epi32(high) : _mm256_cvtepu8_epi32(high);
  _mm256_store_ps(to, _mm256_cvtepi32_ps(_mm256_sub_epi32(first, zero)));
  _mm256_store_ps(to + 8, _mm256_cvtepi32_ps(_mm256_sub_epi32(second, zero)));
}

[[gnu::target("avx2")]] void to_floats(const std::byte* from, int64_t step, DataType type, int32_t zero, int64_t count, int64_t pixels,
                                       float* to) {
  const __m256i shift = _mm256_set1_epi32(zero);
  for (int64_t x = 0; x < pixels; ++x) to_floats(from + x * step, type, shift, count, to + x * channels_in_block);
}

// sums[pixel][16] of `pixels` neighbours whose inputs are `step` floats apart.
template <int pixels>
[[gnu::target("avx2,fma")]] void sum_taps(const float* inputs, int64_t step, const int64_t* offsets, size_t taps, const float* weights,
                                          int32_t* sums) {
  __m256 acc[pixels][2];
  for (auto& pixel : acc) pixel[0] = pixel[1] = _mm256_setzero_ps();
  for (size_t tap = 0; tap < taps; ++tap) {
    const __m256 low = _mm256_load_ps(weights + tap * channels_in_block), high = _mm256_load_ps(weights + tap * channels_in_block + 8);
    const float* from = inputs + offsets[tap];
    for (int p = 0; p < pixels; ++p) {
      acc[p][0] = _mm256_fmadd_ps(_mm256_load_ps(from + p * step), low, acc[p][0]);
      acc[p][1] = _mm256_fmadd_ps(_mm256_load_ps(from + p * step + 8), high, acc[p][1]);
    }
  }
  for (int p = 0; p < pixels; ++p)
    for (int half = 0; half < 2; ++half)
      _mm256_store_si256(reinterpret_cast<__m256i*>(sums + p * channels_in_block + half * 8), _mm256_cvtps_epi32(acc[p][half]));
}

#else

void to_floats(const std::byte*, int64_t, DataType, int32_t, int64_t, int64_t, float*) {}
template <int pixels>
void sum_taps(const float*, int64_t, const int64_t*, size_t, const float*, int32_t*) {}

#endif

}  // namespace

bool IntegerDepthwise::can(const IntegerLayer& layer, const Tensor& weights) {
  return layer.groups > 1 && layer.depth == 1 && layer.outputs == 1 && sums_fit(layer, weights, 128);
}

IntegerDepthwise::IntegerDepthwise(IntegerLayer layer, int threads) : layer_(std::move(layer)), threads_(threads) {
  const IntegerLayer& l = layer_;
  layer_.epilogue.finish();
  blocks_ = divide_up(l.groups, channels_in_block);
  slab_width_ = (l.target[1] - 1) * l.stride[1] + (l.kernel[1] - 1) * l.dilation[1] + 1;
  for (int64_t y = 0; y < l.kernel[0]; ++y)
    for (int64_t x = 0; x < l.kernel[1]; ++x) offsets_.push_back((y * l.dilation[0] * slab_width_ + x * l.dilation[1]) * channels_in_block);
  const int64_t row_bytes = slab_width_ * channels_in_block * static_cast<int64_t>(sizeof(float)),
                reach = (l.kernel[0] - 1) * l.dilation[0] + 1;
  const int64_t most = (depthwise_slab_bytes / row_bytes - reach) / l.stride[0] + 1;
  const int64_t needed = (l.target[0] - 1) / std::clamp<int64_t>(most, 1, l.target[0]) + 1;
  stretches_ = stretches_of(l.target[0], 2, (4 * threads_ - 1) / l.samples + 1, needed);
  stretch_ = (l.target[0] - 1) / stretches_ + 1;
  stretches_ = (l.target[0] - 1) / stretch_ + 1;
  scratch_bytes_ = static_cast<size_t>(((stretch_ - 1) * l.stride[0] + reach) * row_bytes);
}

Tensor IntegerDepthwise::pack(const Tensor& weights) const {
  const auto taps = static_cast<int64_t>(offsets_.size());
  Tensor packed = make_tensor(DataType::f32, {blocks_, taps, channels_in_block});
  const auto to = writable<float>(packed);
  std::fill(to.begin(), to.end(), 0.0F);
  for (int64_t c = 0; c < layer_.groups; ++c)
    for (int64_t tap = 0; tap < taps; ++tap)
      to[static_cast<size_t>((c / channels_in_block * taps + tap) * channels_in_block + c % channels_in_block)] =
          weights.as<int8_t>()[static_cast<size_t>(c * taps + tap)];
  return packed;
}

void IntegerDepthwise::fill(int64_t sample, int64_t channel, int64_t first, int64_t last, const std::byte* source, float* slab) const {
  const IntegerLayer& l = layer_;
  const int64_t top = first * l.stride[0] - l.before[0], rows = (last - 1 - first) * l.stride[0] + (l.kernel[0] - 1) * l.dilation[0] + 1;
  const int64_t left = std::clamp<int64_t>(l.before[1], 0, slab_width_);
  const int64_t inside = std::clamp<int64_t>(l.source[1] + l.before[1], left, slab_width_) - left;
  for (int64_t row = 0; row < rows; ++row) {
    float* to = slab + row * slab_width_ * channels_in_block;
    const int64_t y = top + row;
    if (y < 0 || y >= l.source[0]) {
      std::fill_n(to, slab_width_ * channels_in_block, 0.0F);
      continue;
    }
    const std::byte* from = source + ((sample * l.source[0] + y) * l.source[1] + left - l.before[1]) * l.groups + channel;
    std::fill_n(to, left * channels_in_block, 0.0F);
    to_floats(from, l.groups, l.type, l.zero, std::min(channels_in_block, l.groups - channel), inside, to + left * channels_in_block);
    std::fill_n(to + (left + inside) * channels_in_block, (slab_width_ - left - inside) * channels_in_block, 0.0F);
  }
}

void IntegerDepthwise::multiply(int64_t sample, int64_t block, int64_t first, int64_t last, const float* slab, const std::byte* residual,
                                const float* weights, std::byte* target) const {
  const IntegerLayer& l = layer_;
  const size_t taps = offsets_.size();
  const int64_t step = l.stride[1] * channels_in_block, channel = block * channels_in_block;
  const int64_t channels = std::min(channels_in_block, l.groups - channel);
  const float* own = weights + channel * static_cast<int64_t>(taps);
  alignas(64) int32_t sums[pixels_at_once * channels_in_block];
  int64_t pixels[pixels_at_once];
  for (int64_t y = first; y < last; ++y) {
    const float* row = slab + (y - first) * l.stride[0] * slab_width_ * channels_in_block;
    for (int64_t x = 0; x < l.target[1];) {
      const int64_t count = l.target[1] - x >= pixels_at_once ? pixels_at_once : 1;
      if (count == 1) {
        sum_taps<1>(row + x * step, step, offsets_.data(), taps, own, sums);
      } else {
        sum_taps<pixels_at_once>(row + x * step, step, offsets_.data(), taps, own, sums);
      }
      for (int64_t p = 0; p < count; ++p) pixels[p] = (sample * l.target[0] + y) * l.target[1] + x + p;
      l.epilogue.write(sums, pixels, count, channel, channels, residual, target);
      x += count;
    }
  }
}

void IntegerDepthwise::run(const std::byte* source, const std::byte* residual, const std::byte* weights, std::byte* scratch,
                           std::byte* target) const {
  const IntegerLayer& l = layer_;
  for_pieces(l.samples * stretches_, threads_, [&](int thread, int64_t index) {
    const int64_t sample = index / stretches_, first = index % stretches_ * stretch_, last = std::min(l.target[0], first + stretch_);
    auto* slab = reinterpret_cast<float*>(scratch + static_cast<size_t>(thread) * scratch_bytes_);
    for (int64_t block = 0; block < blocks_; ++block) {
      fill(sample, block * channels_in_block, first, last, source, slab);
      multiply(sample, block, first, last, slab, residual, reinterpret_cast<const float*>(weights), target);
    }
  });
}

}  // namespace deepgap
