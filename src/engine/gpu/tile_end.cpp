#include "engine/gpu/tile_end.h"

#include "engine/gpu/kernel_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

namespace deepgap::gpu {
namespace {

constexpr std::string_view table_text = R"(
struct Table {
  float scale[table_share], bias[table_share];  // of one thread
  __device__ __forceinline__ void load(const float* scale_bias, int column) {
#pragma unroll
    for (int i = 0; i < table_share; i++) {
      const int place = threadIdx.x % 128 + 128 * i;
      const int in_group = place % (4 * run);
      const int channel = column * columns + place / (4 * run) * (4 * run) + in_group / 4 % 4 * run + in_group / 16 * 4 + in_group % 4;
      const bool there = place < columns && channel < out_pitch;
      scale[i] = there ? table_scale(scale_bias[channel]) : 0.0f;
      bias[i] = there ? table_bias(scale_bias[out_pitch + channel]) : 0.0f;
    }
  }
  __device__ __forceinline__ void store(float* table) const {
#pragma unroll
    for (int i = 0; i < table_share; i++) {
      const int place = threadIdx.x % 128 + 128 * i;
      if (place < columns) { table[place] = scale[i]; table[columns + place] = bias[i]; }
    }
  }
};
)";

constexpr std::string_view rows_text = R"(
static const int residual_words = has_residual ? run * Residual::bytes / 4 : 1;
// The residual of one group of columns, on its way while others are ended.
struct Kept {
  unsigned words[row_blocks][2][residual_words];
  __device__ __forceinline__ void load(const unsigned char* residual, const Corner& at, int block, int group) {
#pragma unroll
    for (int half = 0; half < 2; half++)
      if (at.inside(block, half, group)) get_residual<run>(residual + at.element(block, half, group) * Residual::bytes, words[block][half]);
  }
};
// The sums of a tile become what is stored. Each group's place in `kept` is filled again as soon as it is used: with a later group of this
// tile, or with one of the next tile.
__device__ __forceinline__ void end_tile(Sum (&sums)[row_blocks][products][product_sums], const float* table, Kept (&kept)[kept_groups],
                                         const Corner& here, const Corner& next, bool more, const unsigned char* residual,
                                         unsigned char* target) {
  const int quarter = threadIdx.x % 4;
#pragma unroll
  for (int group = 0; group < groups_of_columns; group++) {
    Kept& added = kept[group % kept_groups];
#pragma unroll
    for (int block = 0; block < row_blocks; block++) {
      float values[2][run];
#pragma unroll
      for (int part = 0; part < run / 4; part++) {
        float scale[4], bias[4];
        const int place = group * 4 * run + part * 16 + quarter * 4;
        if (has_scale) load_floats<4>(table + place, scale);
        load_floats<4>(table + columns + place, bias);
#pragma unroll
        for (int half = 0; half < 2; half++)
#pragma unroll
          for (int i = 0; i < 4; i++) {
            const int of_run = part * 4 + i, sum = (group * (run / 2) + of_run / 2) * 4 + half * 2 + of_run % 2;
            values[half][of_run] = value_at_end(sums[block][sum / product_sums][sum % product_sums], has_scale ? scale[i] : 1.0f, bias[i],
                                                added.words[block][half], of_run);
          }
      }
#pragma unroll
      for (int half = 0; half < 2; half++)
        if (here.inside(block, half, group)) put_at_end(target + here.element(block, half, group) * Target::bytes, values[half]);
      if (has_residual) {
        const int coming = group + kept_groups;
        if (coming < groups_of_columns) added.load(residual, here, block, coming);
        else if (more) added.load(residual, next, block, coming - groups_of_columns);
      }
    }
  }
}
)";

// How an integer comes out of sums where nothing but an addition and a ReLU lies between: scaled to 0 .. 1, so that the multiply-add
// saturates, then to the range of whole numbers by the multiply-add that rounds.
struct ShortEnd {
  int low = 0, high = 0;
  bool adds = false;
};

// ReLU, or one with an upper bound: whole numbers are as well clamped after they are rounded.
bool clamp_to(const Epilogue& epilogue, const std::string& activation, ShortEnd& end) {
  float most = 0;
  char last = 0;
  const bool bounded = std::sscanf(activation.c_str(), "fminf(fmaxf(v, 0.0f), %ff%c", &most, &last) == 2 && last == ')' && most > 0;
  if (!bounded && activation != "fmaxf(v, 0.0f)") return false;
  end.low = std::max(end.low, epilogue.target_zero);
  const float highest = std::nearbyint(most * epilogue.target_inverse) + static_cast<float>(epilogue.target_zero);
  if (bounded && highest < static_cast<float>(end.high)) end.high = static_cast<int>(highest);
  return true;
}

std::optional<ShortEnd> short_end(const Epilogue& epilogue) {
  if (epilogue.target != Element::i8 && epilogue.target != Element::u8) return std::nullopt;
  ShortEnd end;
  end.low = epilogue.target == Element::i8 ? -128 : 0;
  end.high = end.low + 255;
  size_t step = 0;
  if (step < epilogue.steps.size() && epilogue.steps[step].kind == EpilogueStep::Kind::add) end.adds = true, step++;
  if (step < epilogue.steps.size() && clamp_to(epilogue, epilogue.steps[step].text, end)) step++;
  return step == epilogue.steps.size() && end.low < end.high ? std::optional(end) : std::nullopt;
}

std::string short_end_text(const Epilogue& epilogue, const ShortEnd& end) {
  const float range = static_cast<float>(end.high - end.low);
  const bool integers = epilogue.residual == Element::i8 || epilogue.residual == Element::u8;
  const float residual_scale = integers ? epilogue.residual_scale : 1.0f;
  const float residual_zero = integers ? static_cast<float>(epilogue.residual_zero) : 0.0f;
  const float inverse = epilogue.target_inverse / range;
  const float offset =
      static_cast<float>(epilogue.target_zero - end.low) / range - (end.adds ? residual_zero * residual_scale * inverse : 0.0f);
  return fmt::format(R"(
__device__ __forceinline__ float table_scale(float scale) {{ return scale * {0}; }}
__device__ __forceinline__ float table_bias(float bias) {{ return fmaf(bias, {0}, {1}); }}
__device__ __forceinline__ float to_unit(float a, float b, float c) {{
  float v;
  asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(v) : "f"(a), "f"(b), "f"(c));
  return v;
}}
__device__ __forceinline__ float value_at_end(Sum sum, float scale, float bias, const unsigned* words, int index) {{
  if (!{2}) return to_unit(value_of(sum), scale, bias);
  return to_unit(Residual::get(words[index / Residual::per_word], index % Residual::per_word), {3}, fmaf(value_of(sum), scale, bias));
}}
__device__ __forceinline__ void put_at_end(unsigned char* to, const float (&v)[run]) {{
  unsigned words[run / 4], q[4];
#pragma unroll
  for (int i = 0; i < run; i += 4) {{
#pragma unroll
    for (int j = 0; j < 4; j++) q[j] = __float_as_uint(fmaf(v[i + j], {4}, {5}));
    words[i / 4] = __byte_perm(__byte_perm(q[0], q[1], 0x0040), __byte_perm(q[2], q[3], 0x0040), 0x5410);
  }}
  store_words<run / 4>(to, words);
}}
)",
                     literal(inverse), literal(offset), end.adds, literal(residual_scale * inverse), literal(range),
                     literal(12582912.0f + static_cast<float>(end.low)));
}

constexpr std::string_view plain_end = R"(
__device__ __forceinline__ float table_scale(float scale) { return scale; }
__device__ __forceinline__ float table_bias(float bias) { return bias; }
__device__ __forceinline__ float value_at_end(Sum sum, float scale, float bias, const unsigned* words, int index) {
  return ended(sum, scale, bias, has_residual ? residual_of(words, index) : 0.0f);
}
__device__ __forceinline__ void put_at_end(unsigned char* to, const float (&v)[run]) { put_target(to, v); }
)";

}  // namespace

std::string tile_end_text(const Convolution& problem) {
  const std::optional<ShortEnd> end = short_end(problem.epilogue);
  return (end ? short_end_text(problem.epilogue, *end) : std::string(plain_end)) + std::string(table_text);
}

std::string_view tile_rows_text() { return rows_text; }

int kept_groups_of(const Convolution& problem, int columns, int row_blocks) {
  const int run = run_of(problem, columns), groups = columns / (4 * run);
  const int words = row_blocks * 2 * run * static_cast<int>(byte_size(problem.epilogue.residual)) / 4;
  int kept = groups;
  while (kept > 1 && kept * words > 32) kept /= 2;
  return groups % kept == 0 ? kept : 1;
}

int run_of(const Convolution& problem, int columns) {
  int run = 16 / static_cast<int>(byte_size(problem.epilogue.target));
  while (columns % (4 * run) != 0) run /= 2;
  return run;
}

int channel_of_column(int column, int run) {
  const int group = column / (4 * run), of_group = column % (4 * run);
  return group * 4 * run + of_group % 8 / 2 * run + of_group / 8 * 2 + of_group % 2;
}

}  // namespace deepgap::gpu
