// The values that seeds stand for: normal streams and smooth pictures.
#include "model/eval/parallel.h"
#include "model/weights/exact_math.h"
#include "model/weights/lanes.h"
#include "model/weights/seeded.h"
#include "stats/philox.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

namespace deepgap {

namespace {

constexpr int64_t values_per_part = 1 << 14;
constexpr int64_t quantiles_at_a_time = 64;  // what the last of a few values are computed with
static_assert(values_per_part % quantiles_at_a_time == 0);

// One plane wave of a picture: cos(2 pi (across * x + down * y + phase)), x and y from 0 to 1.
struct Wave {
  double across, down, phase;
};

constexpr int wave_count = 16;

// Draws of one picture: four uniform numbers per (wave, purpose).
PhiloxCounter draw(uint64_t seed, uint64_t index, uint32_t wave, uint32_t purpose) {
  return philox4x32({wave, purpose, static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32)},
                    philox_key(seed ^ stream_of("smooth")));
}

Wave wave_of(uint64_t seed, uint64_t index, int wave) {
  const PhiloxCounter words = draw(seed, index, static_cast<uint32_t>(wave), 0);
  // Directions from all around; up to half a cycle more with each wave.
  const double reach = 0.5 + 0.5 * wave;
  return {(2 * to_unit(words[0]) - 1) * reach, (2 * to_unit(words[1]) - 1) * reach, to_unit(words[2])};
}

// Half of an amplitude is common to all channels, as brightness is.
double amplitude_of(uint64_t seed, uint64_t index, int wave, int64_t channel) {
  const double common = 2 * to_unit(draw(seed, index, static_cast<uint32_t>(wave), 1)[0]) - 1;
  const double own = 2 * to_unit(draw(seed, index, static_cast<uint32_t>(wave), static_cast<uint32_t>(2 + channel))[0]) - 1;
  return (common + own) / (1.0 + wave);
}

// cos and sin of 2 pi (frequency * i / size + phase) for every i; behind the last as many zeros as make whole Eights.
struct Table {
  std::vector<double> cosine, sine;
  Table(double frequency, double phase, int64_t size) : cosine((size + 7) / 8 * 8), sine(cosine.size()) {
    for (int64_t i = 0; i < size; ++i) {
      const double turns = frequency * (static_cast<double>(i) / static_cast<double>(size)) + phase;
      cosine[i] = exact_sine_of_turns(turns + 0.25);
      sine[i] = exact_sine_of_turns(turns);
    }
  }
};

// The terms of a row of an image: how much of each wave's cosines and sines.
struct Row {
  std::array<double, wave_count> even, odd;
  double most;  // that the sum could be
};

// Each element's sum in the order of the waves.
[[gnu::always_inline]] inline void row_loop(const std::vector<Table>& x, const Row& row, std::vector<float>& out) {
  using Floats [[gnu::vector_size(32)]] = float;
  for (size_t i = 0; i < out.size(); i += 8) {
    Eight sum{};
    for (int w = 0; w < wave_count; ++w) {
      Eight cosine, sine;
      std::memcpy(&cosine, &x[w].cosine[i], sizeof cosine);
      std::memcpy(&sine, &x[w].sine[i], sizeof sine);
      sum += row.even[w] * cosine - row.odd[w] * sine;
    }
    const Floats values = __builtin_convertvector(sum / row.most, Floats);
    std::memcpy(&out[i], &values, sizeof values);
  }
}

void row_plain(const std::vector<Table>& x, const Row& row, std::vector<float>& out) { row_loop(x, row, out); }
DEEPGAP_FOR_AVX512 void row_avx512(const std::vector<Table>& x, const Row& row, std::vector<float>& out) { row_loop(x, row, out); }

}  // namespace

void fill_normal(std::span<float> values, uint64_t seed, const std::string& name) {
  const uint64_t stream = stream_of(name);
  const auto count = static_cast<int64_t>(values.size());
  parallel_for((count + values_per_part - 1) / values_per_part, values_per_part * 10.0, [&](int64_t part) {
    const int64_t end = std::min(count, (part + 1) * values_per_part);
    std::array<double, quantiles_at_a_time> drawn{};
    for (int64_t begin = part * values_per_part; begin < end; begin += quantiles_at_a_time) {
      for (int64_t i = 0; i < quantiles_at_a_time; i += 4) {
        const PhiloxCounter words = philox_block(seed, stream, static_cast<uint64_t>((begin + i) / 4));
        for (int64_t k = 0; k < 4; ++k) drawn[i + k] = to_unit(words[k]);
      }
      normal_quantiles(drawn);
      const int64_t used = std::min(quantiles_at_a_time, end - begin);
      for (int64_t i = 0; i < used; ++i) values[begin + i] = static_cast<float>(drawn[i]);
    }
  });
}

void fill_smooth(std::span<float> sample, int64_t channels, int64_t height, int64_t width, uint64_t seed, uint64_t index) {
  static const auto fill_row = widest(row_plain, row_avx512);
  std::vector<Table> x, y;
  for (int w = 0; w < wave_count; ++w) {
    const Wave wave = wave_of(seed, index, w);
    x.emplace_back(wave.across, wave.phase, width);
    y.emplace_back(wave.down, 0, height);
  }
  std::vector<float> whole(x[0].cosine.size());
  float* out = sample.data();
  for (int64_t c = 0; c < channels; ++c) {
    std::array<double, wave_count> amplitudes{};
    Row row{};
    for (int w = 0; w < wave_count; ++w) row.most += std::fabs(amplitudes[w] = amplitude_of(seed, index, w, c));
    for (int64_t down = 0; down < height; ++down) {
      for (int w = 0; w < wave_count; ++w) {
        row.even[w] = amplitudes[w] * y[w].cosine[down];
        row.odd[w] = amplitudes[w] * y[w].sine[down];
      }
      fill_row(x, row, whole);
      out = std::copy_n(whole.data(), width, out);
    }
  }
}

}  // namespace deepgap
