#include "engine/cpu/integer_dense.h"

#include "base/rounding.h"
#include "engine/cpu/pieces.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace deepgap {
namespace {

// A slab of inputs should leave most of a second-level cache of 512 kB to the weights.
constexpr int64_t slab_budget = int64_t{160} << 10;
// About a tenth of a millisecond: what the other threads wait for at most when a piece was begun on a CPU that another program takes.
constexpr int64_t pieces_by_thread = 4, small_weights = int64_t{256} << 10;
constexpr int64_t multiplications_in_piece = 6'000'000;
// Weights of 16 columns that take 20 of the 32 kB of a first-level cache.
constexpr int64_t pairs_in_block = 320;

// Before a thread's slab stands which inputs it holds.
constexpr size_t slab_offset = 64;

#if defined(__x86_64__)
template <bool is_signed>
[[gnu::target("avx2")]] void widen_vectors(const std::byte* from, int32_t zero, int64_t count, int16_t* to) {
  const __m256i shift = _mm256_set1_epi16(static_cast<int16_t>(zero));
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    const __m256i wide = is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm256_sub_epi16(wide, shift));
  }
  for (; i < count; ++i) {
    const int value = is_signed ? static_cast<int8_t>(from[i]) : static_cast<int>(from[i]);
    to[i] = static_cast<int16_t>(value - zero);
  }
}
#else
template <bool is_signed>
void widen_vectors(const std::byte* from, int32_t zero, int64_t count, int16_t* to) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = static_cast<int16_t>((is_signed ? static_cast<int8_t>(from[i]) : static_cast<int>(from[i])) - zero);
}
#endif

}  // namespace

void widen(const std::byte* from, DataType type, int32_t zero, int64_t count, int16_t* to) {
  if (type == DataType::i8) {
    widen_vectors<true>(from, zero, count, to);
  } else {
    widen_vectors<false>(from, zero, count, to);
  }
}

int64_t IntegerLayer::largest_input() const {
  const int64_t lowest = type == DataType::u8 ? 0 : -128;
  return std::max(std::abs(lowest - zero), std::abs(lowest + 255 - zero));
}

bool sums_fit(const IntegerLayer& layer, const Tensor& weights, int64_t margin) {
  const auto values = weights.as<int8_t>();
  const auto terms = static_cast<size_t>(layer.terms());
  for (size_t first = 0; first < values.size(); first += terms) {
    int64_t sum = 0;
    for (size_t i = first; i < first + terms; ++i) sum += std::abs(static_cast<int>(values[i]));
    if (sum * layer.largest_input() * margin > INT32_MAX) return false;
  }
  return true;
}

// The work of a thread at a time.
struct IntegerDense::Piece {
  int64_t sample, group;
  int64_t first, last;  // pixels or rows of output
  int64_t first_panel, last_panel;
};

IntegerDense::IntegerDense(IntegerLayer layer, int threads)
    : layer_(std::move(layer)),
      threads_(threads),
      by_pixel_(layer_.kernel[0] == 1 && layer_.kernel[1] == 1 && layer_.before[0] == 0 && layer_.before[1] == 0 &&
                (layer_.target[0] - 1) * layer_.stride[0] < layer_.source[0] &&
                (layer_.target[1] - 1) * layer_.stride[1] < layer_.source[1]) {
  layer_.epilogue.finish();
  cut();
}

// Neighbours in a row lie beside each other, so that one run takes them all. Long runs are parted so that some have their weights in the
// first-level cache while all pixels of a piece pass by.
void IntegerDense::cut_runs() {
  const IntegerLayer& l = layer_;
  const bool joined = l.dilation[1] == 1;
  const int64_t whole = joined ? l.kernel[1] * l.depth : l.depth;
  slab_width_ = (l.target[1] - 1) * l.stride[1] + (l.kernel[1] - 1) * l.dilation[1] + 1;
  int64_t parts = 1;
  for (int64_t more = divide_up(whole, 2 * pairs_in_block); parts == 1 && whole / more >= pairs_in_block / 2; ++more)
    if (whole % (2 * more) == 0) parts = more;
  run_ = whole / parts;
  pairs_ = divide_up(run_, 2);
  runs_ = l.terms() / run_;
  block_ = std::max<int64_t>(pairs_in_block / pairs_, 1);
  for (int64_t y = 0; y < l.kernel[0]; ++y)
    for (int64_t x = 0; x < (joined ? 1 : l.kernel[1]); ++x)
      for (int64_t part = 0; part < parts; ++part)
        run_offsets_.push_back(((y * l.dilation[0] * slab_width_ + x * l.dilation[1]) * l.depth + part * run_) *
                               static_cast<int64_t>(sizeof(int16_t)));
}

void IntegerDense::cut() {
  const IntegerLayer& l = layer_;
  cut_runs();
  const int64_t row_bytes = slab_width_ * l.depth * l.stride[0] * 2,
                halo_bytes = (l.kernel[0] - 1) * l.dilation[0] * slab_width_ * l.depth * 2;
  const int64_t all = by_pixel_ ? l.pixels() : l.target[0];
  // All panels of a piece write to the same lines of memory, one after the other: those should stay in the cache, too.
  const int64_t written = l.groups * l.outputs * l.epilogue.bytes_by_channel();
  const int64_t most = by_pixel_ ? slab_budget / (l.depth * 2 + written) : (slab_budget - halo_bytes) / (row_bytes + l.target[1] * written);
  const int64_t least = by_pixel_ ? 8 * integer_tile_rows : divide_up(8 * integer_tile_rows, l.target[1]);
  // Weights that no second-level cache holds should be read by few.
  const int64_t weights = l.terms() * l.outputs * static_cast<int64_t>(sizeof(int16_t));
  const int64_t wanted = divide_up(threads_ * (weights <= small_weights ? pieces_by_thread : 1), l.samples * l.groups);
  stretch_ = divide_up(all, stretches_of(all, least, wanted, divide_up(all, std::max<int64_t>(most, 1))));
  if (by_pixel_ && stretch_ < all) stretch_ = round_up(stretch_, integer_tile_rows);
  stretches_ = divide_up(all, stretch_);

  panels_ = divide_up(l.outputs, integer_tile_columns);
  const int64_t pixels = by_pixel_ ? stretch_ : stretch_ * l.target[1];
  const int64_t by_size = std::max<int64_t>(multiplications_in_piece / (pixels * l.terms() * integer_tile_columns), 1);
  // Each thread should have several pieces; four panels fill a line of memory, to which no two threads should write.
  const int64_t by_count = std::max<int64_t>(panels_ / divide_up(pieces_by_thread * threads_, l.samples * l.groups * stretches_), 4);
  panel_groups_ = divide_up(panels_, std::min({panels_, by_size, by_count}));
  panels_in_piece_ = divide_up(panels_, panel_groups_);
  panel_groups_ = divide_up(panels_, panels_in_piece_);

  const int64_t slab =
      by_pixel_ ? stretch_ * l.depth : ((stretch_ - 1) * l.stride[0] + (l.kernel[0] - 1) * l.dilation[0] + 1) * slab_width_ * l.depth;
  sums_offset_ = slab_offset + static_cast<size_t>(round_up((slab + 2) * 2, 64));  // a run of odd length reads one more
  const int64_t sums = runs_ > block_ ? round_up(pixels, integer_tile_rows) : integer_tile_rows;
  scratch_bytes_ = sums_offset_ + static_cast<size_t>(sums * integer_tile_columns) * sizeof(int32_t);
}

IntegerDense::Piece IntegerDense::piece_of(int64_t index) const {
  const int64_t panels = index % panel_groups_, part = index / panel_groups_;
  const int64_t stretch = part % stretches_, image = part / stretches_;
  const int64_t all = by_pixel_ ? layer_.pixels() : layer_.target[0];
  return {image / layer_.groups,     image % layer_.groups,
          stretch * stretch_,        std::min(all, (stretch + 1) * stretch_),
          panels * panels_in_piece_, std::min(panels_, (panels + 1) * panels_in_piece_)};
}

std::string IntegerDense::layout() const { return fmt::format("runs of {} in {} groups", run_, layer_.groups); }

Tensor IntegerDense::pack(const Tensor& weights) const {
  const IntegerLayer& l = layer_;
  Tensor packed = make_tensor(DataType::i16, {l.groups, panels_, runs_, pairs_, integer_tile_columns, 2});
  const auto to = writable<int16_t>(packed);
  std::fill(to.begin(), to.end(), int16_t{0});
  const auto from = weights.as<int8_t>();
  const int64_t area = l.kernel[0] * l.kernel[1];
  for (int64_t output = 0; output < l.groups * l.outputs; ++output) {
    const int64_t panel = output / l.outputs * panels_ + output % l.outputs / integer_tile_columns,
                  column = output % l.outputs % integer_tile_columns;
    for (int64_t place = 0; place < area; ++place)
      for (int64_t d = 0; d < l.depth; ++d) {
        const int64_t term = place * l.depth + d, run = term / run_, in_run = term % run_;
        to[static_cast<size_t>((((panel * runs_ + run) * pairs_ + in_run / 2) * integer_tile_columns + column) * 2 + in_run % 2)] =
            from[static_cast<size_t>((output * l.depth + d) * area + place)];
      }
  }
  return packed;
}

void IntegerDense::fill_pixels(const Piece& piece, const std::byte* source, int16_t* slab) const {
  const IntegerLayer& l = layer_;
  const int64_t all = l.groups * l.depth;
  const std::byte* picture = source + piece.sample * l.source[0] * l.source[1] * all + piece.group * l.depth;
  if (l.groups == 1 && l.stride[0] == 1 && l.stride[1] == 1 && l.source == l.target)
    return widen(picture + piece.first * all, l.type, l.zero, (piece.last - piece.first) * all, slab);
  for (int64_t pixel = piece.first; pixel < piece.last; ++pixel) {
    const int64_t y = pixel / l.target[1] * l.stride[0], x = pixel % l.target[1] * l.stride[1];
    widen(picture + (y * l.source[1] + x) * all, l.type, l.zero, l.depth, slab + (pixel - piece.first) * l.depth);
  }
}

void IntegerDense::fill_rows(const Piece& piece, const std::byte* source, int16_t* slab) const {
  const IntegerLayer& l = layer_;
  const int64_t all = l.groups * l.depth, first = piece.first * l.stride[0] - l.before[0];
  const int64_t rows = (piece.last - 1 - piece.first) * l.stride[0] + (l.kernel[0] - 1) * l.dilation[0] + 1;
  const std::byte* picture = source + piece.sample * l.source[0] * l.source[1] * all + piece.group * l.depth;
  const int64_t left = std::clamp<int64_t>(l.before[1], 0, slab_width_);
  const int64_t inside = std::clamp<int64_t>(l.source[1] + l.before[1], left, slab_width_) - left, right = slab_width_ - left - inside;
  for (int64_t row = 0; row < rows; ++row) {
    int16_t* to = slab + row * slab_width_ * l.depth;
    const int64_t y = first + row;
    if (y < 0 || y >= l.source[0]) {
      std::fill_n(to, slab_width_ * l.depth, int16_t{0});
      continue;
    }
    const std::byte* from = picture + (y * l.source[1] + left - l.before[1]) * all;
    std::fill_n(to, left * l.depth, int16_t{0});
    if (l.groups == 1) {
      widen(from, l.type, l.zero, inside * l.depth, to + left * l.depth);
    } else {
      for (int64_t x = 0; x < inside; ++x) widen(from + x * all, l.type, l.zero, l.depth, to + (left + x) * l.depth);
    }
    std::fill_n(to + (left + inside) * l.depth, right * l.depth, int16_t{0});
  }
}

void IntegerDense::multiply(const Piece& piece, const int16_t* slab, const std::byte* residual, const int16_t* weights, int32_t* sums,
                            std::byte* target) const {
  const IntegerLayer& l = layer_;
  const int64_t first = by_pixel_ ? piece.first : piece.first * l.target[1], last = by_pixel_ ? piece.last : piece.last * l.target[1];
  int64_t pixels[integer_tile_rows];
  for (int64_t panel = piece.first_panel; panel < piece.last_panel; ++panel) {
    const int16_t* own = weights + (piece.group * panels_ + panel) * runs_ * pairs_ * integer_tile_columns * 2;
    const int64_t channel = piece.group * l.outputs + panel * integer_tile_columns;
    const int64_t count = std::min(integer_tile_columns, l.outputs - panel * integer_tile_columns);
    for (int64_t run = 0; run < runs_; run += block_) {
      IntegerTile tile{.rows = {},
                       .weights = own + run * pairs_ * integer_tile_columns * 2,
                       .run_offsets = run_offsets_.data() + run,
                       .runs = std::min(block_, runs_ - run),
                       .pairs = pairs_,
                       .start = no_sums,
                       .sums = sums};
      const bool is_last = run + block_ >= runs_;
      int64_t y = 0, x = 0;  // place of the next pixel, from the piece's first row
      for (int64_t pixel = first; pixel < last; pixel += integer_tile_rows) {
        const int64_t rows = std::min(integer_tile_rows, last - pixel);
        for (int64_t r = 0; r < rows; ++r) {
          tile.rows[r] = slab + (by_pixel_ ? pixel + r - first : y * l.stride[0] * slab_width_ + x * l.stride[1]) * l.depth;
          pixels[r] = piece.sample * l.pixels() + pixel + r;
          if (++x == l.target[1]) x = 0, ++y;
        }
        if (runs_ > block_) tile.sums = sums + (pixel - first) * integer_tile_columns;
        if (run > 0) tile.start = tile.sums;
        multiply_tile(tile, rows);
        if (is_last) l.epilogue.write(tile.sums, pixels, rows, channel, count, residual, target);
      }
    }
  }
}

void IntegerDense::run(const std::byte* source, const std::byte* residual, const std::byte* packed, std::byte* scratch,
                       std::byte* target) const {
  const auto* weights = reinterpret_cast<const int16_t*>(packed);
  const auto scratch_of = [&](int64_t thread) { return scratch + static_cast<size_t>(thread) * scratch_bytes_; };
  for (int64_t thread = 0; thread < threads_; ++thread) *reinterpret_cast<int64_t*>(scratch_of(thread)) = -1;
  for_pieces(layer_.samples * layer_.groups * stretches_ * panel_groups_, threads_, [&](int thread, int64_t index) {
    const Piece piece = piece_of(index);
    auto* slab = reinterpret_cast<int16_t*>(scratch_of(thread) + slab_offset);
    // Pieces that differ in their panels alone share their inputs.
    if (auto& held = *reinterpret_cast<int64_t*>(scratch_of(thread)); held != index / panel_groups_) {
      held = index / panel_groups_;
      if (by_pixel_) {
        fill_pixels(piece, source, slab);
      } else {
        fill_rows(piece, source, slab);
      }
    }
    auto* sums = reinterpret_cast<int32_t*>(scratch_of(thread) + sums_offset_);
    multiply(piece, slab, residual, weights, sums, target);
  });
}

}  // namespace deepgap
