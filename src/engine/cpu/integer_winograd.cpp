#include "engine/cpu/integer_winograd.h"

#include "base/rounding.h"
#include "engine/cpu/pieces.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace deepgap {
namespace {

constexpr int64_t transformed_budget = int64_t{300} << 10;
constexpr int64_t most_side = 6;

// Rows of the map of kernels, scaled to integers.
constexpr int kernel_map_2[4][3] = {{1, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 1}};
constexpr int kernel_map_4[6][3] = {{1, 0, 0}, {-1, -1, -1}, {-1, 1, -1}, {1, 2, 4}, {1, -2, 4}, {0, 0, 1}};

// Returns how many tiles go through a thread's scratch at a time: a multiple of what the kernel takes, as many as the cache holds.
int64_t tiles_at_once(int64_t positions, int64_t depth, int64_t all) {
  const int64_t most = transformed_budget / (positions * depth * static_cast<int64_t>(sizeof(int16_t)));
  const int64_t stretch = std::clamp<int64_t>(most / integer_tile_rows * integer_tile_rows, integer_tile_rows, 8 * integer_tile_rows);
  return std::min(stretch, all);
}

// Multiplications that a way of computing takes, with what else takes as long. A multiplication takes as long as a sixth of a byte of
// weights from memory; the maps were counted in instructions.
int64_t winograd_cost(const IntegerLayer& l, int64_t tile) {
  const int64_t positions = (tile + 2) * (tile + 2), per_input = tile == 4 ? 110 : 36, per_output = tile == 4 ? 260 : 70;
  const int64_t tiles = l.samples * divide_up(l.target[0], tile) * divide_up(l.target[1], tile);
  const int64_t passes = divide_up(tiles, tiles_at_once(positions, l.depth, tiles));
  const int64_t products = tiles * positions * l.depth * l.outputs, weights = passes * positions * l.depth * l.outputs * 12;
  return std::max(products, weights) + tiles * (l.depth * per_input + l.outputs * per_output);
}

#if defined(__x86_64__)

#define DEEPGAP_MAP [[gnu::target("avx2"), gnu::always_inline]] inline

DEEPGAP_MAP __m256i twice(__m256i x) { return _mm256_slli_epi16(x, 1); }
DEEPGAP_MAP __m256i four_times(__m256i x) { return _mm256_slli_epi16(x, 2); }

// The map of inputs along one direction, 16 channels at a time.
template <int tile>
DEEPGAP_MAP void map_inputs(const __m256i* d, __m256i* to) {
  if constexpr (tile == 2) {
    to[0] = _mm256_sub_epi16(d[0], d[2]);
    to[1] = _mm256_add_epi16(d[1], d[2]);
    to[2] = _mm256_sub_epi16(d[2], d[1]);
    to[3] = _mm256_sub_epi16(d[1], d[3]);
  } else {
    const __m256i five2 = _mm256_add_epi16(four_times(d[2]), d[2]), five3 = _mm256_add_epi16(four_times(d[3]), d[3]);
    const __m256i a = _mm256_sub_epi16(d[4], four_times(d[2])), b = _mm256_sub_epi16(d[3], four_times(d[1]));
    const __m256i c = _mm256_sub_epi16(d[4], d[2]), e = twice(_mm256_sub_epi16(d[3], d[1]));
    to[0] = _mm256_add_epi16(_mm256_sub_epi16(four_times(d[0]), five2), d[4]);
    to[1] = _mm256_add_epi16(a, b);
    to[2] = _mm256_sub_epi16(a, b);
    to[3] = _mm256_add_epi16(c, e);
    to[4] = _mm256_sub_epi16(c, e);
    to[5] = _mm256_add_epi16(_mm256_sub_epi16(four_times(d[1]), five3), d[5]);
  }
}

// The map of products back to pixels along one direction, times 2 or 24.
template <int tile>
DEEPGAP_MAP void map_products(const __m256i* m, __m256i* to) {
  const __m256i sum = _mm256_add_epi32(m[1], m[2]), difference = _mm256_sub_epi32(m[1], m[2]);
  if constexpr (tile == 2) {
    to[0] = _mm256_add_epi32(_mm256_slli_epi32(m[0], 1), sum);
    to[1] = _mm256_sub_epi32(difference, _mm256_slli_epi32(m[3], 1));
  } else {
    const __m256i sum4 = _mm256_slli_epi32(sum, 2), difference4 = _mm256_slli_epi32(difference, 2);
    const __m256i other = _mm256_add_epi32(m[3], m[4]), another = _mm256_sub_epi32(m[3], m[4]);
    const __m256i six0 = _mm256_add_epi32(_mm256_slli_epi32(m[0], 2), _mm256_slli_epi32(m[0], 1));
    const __m256i last = _mm256_add_epi32(_mm256_slli_epi32(m[5], 4), _mm256_slli_epi32(m[5], 3));
    to[0] = _mm256_add_epi32(_mm256_add_epi32(six0, sum4), other);
    to[1] = _mm256_add_epi32(difference4, _mm256_slli_epi32(another, 1));
    to[2] = _mm256_add_epi32(sum4, _mm256_slli_epi32(other, 2));
    to[3] = _mm256_add_epi32(_mm256_add_epi32(difference4, _mm256_slli_epi32(another, 3)), last);
  }
}

// `rows[y]`, `inside`: the places of a tile's inputs in the image, and whether they are in it. to[position * step + channel].
template <int tile>
[[gnu::target("avx2")]] void map_tile_inputs(const std::byte* const (*places)[most_side], DataType type, int32_t zero, int64_t depth,
                                             int64_t step, int16_t* to) {
  constexpr int side = tile + 2;
  const __m256i shift = _mm256_set1_epi16(static_cast<int16_t>(zero));
  alignas(16) std::byte tail[16] = {};
  for (int64_t c = 0; c < depth; c += 16) {
    __m256i d[side][side], mapped[side][side];
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x) {
        const std::byte* from = places[y][x];
        if (from == nullptr) {
          d[x][y] = _mm256_setzero_si256();
          continue;
        }
        from += c;
        if (depth - c < 16) {
          std::memcpy(tail, from, static_cast<size_t>(depth - c));
          from = tail;
        }
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
        d[x][y] = _mm256_sub_epi16(type == DataType::i8 ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes), shift);
      }
    for (int x = 0; x < side; ++x) {
      __m256i column[side];
      map_inputs<tile>(d[x], column);
      for (int y = 0; y < side; ++y) mapped[y][x] = column[y];
    }
    for (int y = 0; y < side; ++y) {
      __m256i row[side];
      map_inputs<tile>(mapped[y], row);
      for (int x = 0; x < side; ++x) _mm256_store_si256(reinterpret_cast<__m256i*>(to + (y * side + x) * step + c), row[x]);
    }
  }
}

// products[position * step + channel] of 16 channels to sums [tile * tile][16].
template <int tile>
[[gnu::target("avx2")]] void map_tile_products(const int32_t* products, int64_t step, int32_t* sums) {
  constexpr int side = tile + 2;
  for (int half = 0; half < 2; ++half) {
    __m256i columns[tile][side];
    for (int x = 0; x < side; ++x) {
      __m256i m[side], pixels[tile];
      for (int y = 0; y < side; ++y)
        m[y] = _mm256_load_si256(reinterpret_cast<const __m256i*>(products + (y * side + x) * step + half * 8));
      map_products<tile>(m, pixels);
      for (int y = 0; y < tile; ++y) columns[y][x] = pixels[y];
    }
    for (int y = 0; y < tile; ++y) {
      __m256i pixels[tile];
      map_products<tile>(columns[y], pixels);
      for (int x = 0; x < tile; ++x) {
        // Exact: the sum is a multiple of 4, or of 576.
        const __m256i sum =
            tile == 2 ? _mm256_srai_epi32(pixels[x], 2) : _mm256_srai_epi32(_mm256_mullo_epi32(pixels[x], _mm256_set1_epi32(954437177)), 6);
        _mm256_store_si256(reinterpret_cast<__m256i*>(sums + (y * tile + x) * integer_tile_columns + half * 8), sum);
      }
    }
  }
}

#else

template <int tile>
void map_tile_inputs(const std::byte* const (*)[most_side], DataType, int32_t, int64_t, int64_t, int16_t*) {}
template <int tile>
void map_tile_products(const int32_t*, int64_t, int32_t*) {}

#endif

}  // namespace

int64_t IntegerWinograd::choose(const IntegerLayer& l, const Tensor& weights, int threads) {
  const auto all = [](const std::array<int64_t, 2>& sizes, int64_t size) { return sizes[0] == size && sizes[1] == size; };
  if (!all(l.kernel, 3) || !all(l.stride, 1) || !all(l.dilation, 1) || l.groups != 1 || l.depth < 16) return 0;
  const int64_t in_part = 9 * l.depth * l.outputs;
  int64_t best = 0, least = std::max(l.samples * l.pixels() * in_part, in_part * 12 * threads);
  for (const int64_t tile : {2, 4}) {
    const int64_t cost = winograd_cost(l, tile);
    if (cost >= least || !sums_fit(l, weights, tile == 2 ? 4 : 64)) continue;
    best = tile;
    least = cost;
  }
  return best;
}

IntegerWinograd::IntegerWinograd(IntegerLayer layer, int64_t tile, int threads) : layer_(std::move(layer)), tile_(tile), threads_(threads) {
  layer_.epilogue.finish();
  down_ = divide_up(layer_.target[0], tile_);
  across_ = divide_up(layer_.target[1], tile_);
  tiles_ = layer_.samples * down_ * across_;
  const int64_t needed = divide_up(tiles_, tiles_at_once(positions(), line(), tiles_));
  stretch_ = divide_up(tiles_, stretches_of(tiles_, 4 * integer_tile_rows, 4 * threads_, needed));
  stretches_ = divide_up(tiles_, stretch_);
  panels_ = divide_up(layer_.outputs, integer_tile_columns);
  const int64_t wanted = divide_up(int64_t{4} * threads_, stretches_);
  panels_in_piece_ = std::max<int64_t>(panels_ / wanted, std::min<int64_t>(panels_, 4));
  panel_groups_ = divide_up(panels_, panels_in_piece_);
  inputs_offset_ = 64;  // before them stands which inputs they are
  products_offset_ = inputs_offset_ + static_cast<size_t>(positions() * stretch_ * line()) * sizeof(int16_t);
  scratch_bytes_ = products_offset_ + static_cast<size_t>(positions() * stretch_ * integer_tile_columns) * sizeof(int32_t);
}

std::string IntegerWinograd::layout() const { return fmt::format("Winograd, tiles of {}", tile_); }

Tensor IntegerWinograd::pack(const Tensor& weights) const {
  Tensor packed = make_tensor(DataType::i16, {panels_, positions(), pairs(), integer_tile_columns, 2});
  const auto to = writable<int16_t>(packed);
  std::fill(to.begin(), to.end(), int16_t{0});
  const auto from = weights.as<int8_t>();
  const auto* map = tile_ == 2 ? kernel_map_2 : kernel_map_4;
  for (int64_t output = 0; output < layer_.outputs; ++output)
    for (int64_t d = 0; d < layer_.depth; ++d) {
      const int8_t* kernel = from.data() + (output * layer_.depth + d) * 9;
      for (int64_t p = 0; p < positions(); ++p) {
        const int *row = map[p / side()], *column = map[p % side()];
        int value = 0;
        for (int y = 0; y < 3; ++y)
          for (int x = 0; x < 3; ++x) value += row[y] * column[x] * kernel[y * 3 + x];
        const int64_t panel = output / integer_tile_columns, lane = output % integer_tile_columns;
        to[static_cast<size_t>((((panel * positions() + p) * pairs() + d / 2) * integer_tile_columns + lane) * 2 + d % 2)] =
            static_cast<int16_t>(value);
      }
    }
  return packed;
}

void IntegerWinograd::transform_inputs(int64_t first, int64_t last, const std::byte* source, int16_t* inputs) const {
  const IntegerLayer& l = layer_;
  const int64_t step = stretch_ * line();
  for (int64_t t = first; t < last; ++t) {
    const int64_t sample = t / (down_ * across_), top = t / across_ % down_ * tile_ - l.before[0], left = t % across_ * tile_ - l.before[1];
    const std::byte* places[most_side][most_side];
    for (int64_t y = 0; y < side(); ++y)
      for (int64_t x = 0; x < side(); ++x) {
        const bool inside = top + y >= 0 && top + y < l.source[0] && left + x >= 0 && left + x < l.source[1];
        places[y][x] = inside ? source + ((sample * l.source[0] + top + y) * l.source[1] + left + x) * l.depth : nullptr;
      }
    int16_t* to = inputs + (t - first) * line();
    if (tile_ == 2) {
      map_tile_inputs<2>(places, l.type, l.zero, l.depth, step, to);
    } else {
      map_tile_inputs<4>(places, l.type, l.zero, l.depth, step, to);
    }
  }
}

void IntegerWinograd::multiply(int64_t first, int64_t last, int64_t panel, const int16_t* inputs, const int16_t* weights,
                               int32_t* products) const {
  const int64_t no_offset = 0, count = last - first;
  for (int64_t p = 0; p < positions(); ++p) {
    IntegerTile tile{.rows = {},
                     .weights = weights + (panel * positions() + p) * pairs() * integer_tile_columns * 2,
                     .run_offsets = &no_offset,
                     .runs = 1,
                     .pairs = pairs(),
                     .start = no_sums,
                     .sums = nullptr};
    for (int64_t t = 0; t < count; t += integer_tile_rows) {
      const int64_t rows = std::min(integer_tile_rows, count - t);
      for (int64_t r = 0; r < rows; ++r) tile.rows[r] = inputs + (p * stretch_ + t + r) * line();
      tile.sums = products + (p * stretch_ + t) * integer_tile_columns;
      multiply_tile(tile, rows);
    }
  }
}

void IntegerWinograd::write(int64_t first, int64_t last, int64_t panel, const int32_t* products, const std::byte* residual,
                            std::byte* target) const {
  const IntegerLayer& l = layer_;
  const int64_t channel = panel * integer_tile_columns, count = std::min(integer_tile_columns, l.outputs - channel);
  alignas(64) int32_t sums[16 * integer_tile_columns];
  for (int64_t t = first; t < last; ++t) {
    const int32_t* from = products + (t - first) * integer_tile_columns;
    if (tile_ == 2) {
      map_tile_products<2>(from, stretch_ * integer_tile_columns, sums);
    } else {
      map_tile_products<4>(from, stretch_ * integer_tile_columns, sums);
    }
    const int64_t sample = t / (down_ * across_), top = t / across_ % down_ * tile_, left = t % across_ * tile_;
    const int64_t rows = std::min(tile_, l.target[1] - left);
    for (int64_t y = 0; y < std::min(tile_, l.target[0] - top); ++y) {
      int64_t pixels[4];
      for (int64_t x = 0; x < rows; ++x) pixels[x] = sample * l.pixels() + (top + y) * l.target[1] + left + x;
      l.epilogue.write(sums + y * tile_ * integer_tile_columns, pixels, rows, channel, count, residual, target);
    }
  }
}

void IntegerWinograd::run(const std::byte* source, const std::byte* residual, const std::byte* packed, std::byte* scratch,
                          std::byte* target) const {
  const auto* weights = reinterpret_cast<const int16_t*>(packed);
  const auto scratch_of = [&](int64_t thread) { return scratch + static_cast<size_t>(thread) * scratch_bytes_; };
  for (int64_t thread = 0; thread < threads_; ++thread) *reinterpret_cast<int64_t*>(scratch_of(thread)) = -1;
  for_pieces(stretches_ * panel_groups_, threads_, [&](int thread, int64_t index) {
    std::byte* own = scratch_of(thread);
    auto* inputs = reinterpret_cast<int16_t*>(own + inputs_offset_);
    auto* products = reinterpret_cast<int32_t*>(own + products_offset_);
    const int64_t stretch = index / panel_groups_, first = stretch * stretch_, last = std::min(tiles_, first + stretch_);
    if (auto& held = *reinterpret_cast<int64_t*>(own); held != stretch) {
      held = stretch;
      transform_inputs(first, last, source, inputs);
    }
    const int64_t first_panel = index % panel_groups_ * panels_in_piece_;
    for (int64_t panel = first_panel; panel < std::min(panels_, first_panel + panels_in_piece_); ++panel) {
      multiply(first, last, panel, inputs, weights, products);
      write(first, last, panel, products, residual, target);
    }
  });
}

}  // namespace deepgap
