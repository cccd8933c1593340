// Attention in one kernel, for numbers of 16 bits: a block takes 64 or 128 queries of a head, goes over the keys 64 at a time, and keeps a
// softmax that is corrected as larger scores come (Milakov and Gimelshein 2018; Dao et al. 2022), so that scores are never in memory.
// Products by mma.sync, sums in float32. hopper_attention.cpp has another kernel for the same.
#include "engine/gpu/attention.h"
#include "engine/gpu/generated.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/operators.h"
#include "engine/passes/attention.h"

#include <fmt/format.h>

#include <array>
#include <optional>

namespace deepgap::gpu {
namespace {

constexpr int64_t most_columns = 128;

constexpr std::string_view softmax = R"(
__device__ __forceinline__ float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float over_quad(float x, bool largest) {
  for (int step = 1; step < 4; step *= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, x, step);
    x = largest ? fmaxf(x, other) : x + other;
  }
  return x;
}
static const float minus_infinity = -1.0f / 0.0f;
)";

constexpr const char* text = R"(
// [rows][WIDTH] of halves: rows row0 and on of a matrix of which `limit` rows are there; columns past `columns` are zero.
template <int WIDTH, bool WIDE> __device__ __forceinline__ void load_tile(unsigned short* to, const unsigned short* from, int rows, int row0,
                                                                        int limit, int columns, long long row_step, long long column_step) {
  if (WIDE) {
    for (int e = threadIdx.x; e < rows * (WIDTH / 8); e += THREADS) {
      const int row = e / (WIDTH / 8), column = e % (WIDTH / 8) * 8;
      const bool valid = row0 + row < limit && column < columns;
      cp_async16(shared_address(to + row * (WIDTH + 8) + column), from + (valid ? (row0 + row) * row_step + column : 0), valid);
    }
  } else {
    for (int e = threadIdx.x; e < rows * WIDTH; e += THREADS) {
      const int row = e / WIDTH, column = e % WIDTH;
      const bool valid = row0 + row < limit && column < columns;
      to[row * (WIDTH + 8) + column] = valid ? from[(row0 + row) * row_step + column * column_step] : (unsigned short)0;
    }
  }
}
__device__ __forceinline__ void load_turned(unsigned (&r)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}
static const int rows_of_block = THREADS / 2 * ROW_BLOCKS, rows_of_warp = 16 * ROW_BLOCKS;

// What a warp has of its queries: results so far, the largest score, the sum of the weights.
struct Softmax {
  float o[ROW_BLOCKS][COLUMNS / 8][4];
  float most[ROW_BLOCKS][2], sum[ROW_BLOCKS][2];
};
// 16 * GROUPS keys from `key0` on.
template <int GROUPS, bool LAST> __device__ __forceinline__ void take_keys(Softmax& all, const unsigned (&a)[ROW_BLOCKS][DEPTH / 16][4],
                                                               const unsigned short* k_tile, const unsigned short* v_tile, int key0, int row,
                                                               MASK_PARAMETER long long head, long long batch) {
  const int lane = threadIdx.x % 32;
  float s[ROW_BLOCKS][2 * GROUPS][4];
#pragma unroll
  for (int m = 0; m < ROW_BLOCKS; ++m)
#pragma unroll
    for (int n = 0; n < 2 * GROUPS; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) s[m][n][e] = 0.0f;
#pragma unroll
  for (int d = 0; d < DEPTH / 16; ++d)
#pragma unroll
    for (int n = 0; n < GROUPS; ++n) {
      unsigned b[4];
      load_matrices(b, shared_address(k_tile + (n * 16 + lane % 8 + lane / 16 * 8) * (DEPTH + 8) + d * 16 + lane / 8 % 2 * 8));
#pragma unroll
      for (int m = 0; m < ROW_BLOCKS; ++m) {
        PRODUCT(s[m][2 * n][0], s[m][2 * n][1], s[m][2 * n][2], s[m][2 * n][3], a[m][d], b[0], b[1]);
        PRODUCT(s[m][2 * n + 1][0], s[m][2 * n + 1][1], s[m][2 * n + 1][2], s[m][2 * n + 1][3], a[m][d], b[2], b[3]);
      }
    }
#pragma unroll
  for (int n = 0; n < 2 * GROUPS; ++n)
#pragma unroll
    for (int one = 0; one < 2; ++one) {
      const int key = key0 + n * 8 + lane % 4 * 2 + one;
      MASK_OF_KEY
#pragma unroll
      for (int m = 0; m < ROW_BLOCKS; ++m)
#pragma unroll
        for (int e = one; e < 4; e += 2) {
          float& x = s[m][n][e];
          const int place = row + m * 16 + e / 2 * 8;
          MASKED
          if (LAST && KEYS % 16 != 0 && key >= KEYS) x = minus_infinity;
        }
    }
#pragma unroll
  for (int m = 0; m < ROW_BLOCKS; ++m) {
    float base[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float larger = all.most[m][half];
#pragma unroll
      for (int n = 0; n < 2 * GROUPS; ++n) larger = fmaxf(larger, fmaxf(s[m][n][2 * half], s[m][n][2 * half + 1]));
      larger = over_quad(larger, true);
      base[half] = larger == minus_infinity ? 0.0f : larger * FACTOR;
      const float less = power_of_two(fmaf(all.most[m][half], FACTOR, -base[half]));
      all.most[m][half] = larger;
      float part = 0.0f;
#pragma unroll
      for (int n = 0; n < 2 * GROUPS; ++n)
#pragma unroll
        for (int one = 0; one < 2; ++one) part += s[m][n][2 * half + one] = power_of_two(fmaf(s[m][n][2 * half + one], FACTOR, -base[half]));
      all.sum[m][half] = fmaf(all.sum[m][half], less, part);
#pragma unroll
      for (int c = 0; c < COLUMNS / 8; ++c) all.o[m][c][2 * half] *= less, all.o[m][c][2 * half + 1] *= less;
    }
  }
#pragma unroll
  for (int n = 0; n < GROUPS; ++n) {
    unsigned p[ROW_BLOCKS][4];
#pragma unroll
    for (int m = 0; m < ROW_BLOCKS; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i) p[m][i] = HALF::pair(s[m][2 * n + i / 2][i % 2 * 2], s[m][2 * n + i / 2][i % 2 * 2 + 1]);
#pragma unroll
    for (int c = 0; c < COLUMNS / 16; ++c) {
      unsigned b[4];
      load_turned(b, shared_address(v_tile + (n * 16 + lane % 16) * (COLUMNS + 8) + c * 16 + lane / 16 * 8));
#pragma unroll
      for (int m = 0; m < ROW_BLOCKS; ++m) {
        float(&o)[COLUMNS / 8][4] = all.o[m];
        PRODUCT(o[2 * c][0], o[2 * c][1], o[2 * c][2], o[2 * c][3], p[m], b[0], b[1]);
        PRODUCT(o[2 * c + 1][0], o[2 * c + 1][1], o[2 * c + 1][2], o[2 * c + 1][3], p[m], b[2], b[3]);
      }
    }
  }
}
__device__ __forceinline__ void put_rows(const Softmax& all, unsigned short* out, int row) {
#pragma unroll
  for (int m = 0; m < ROW_BLOCKS; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float inverse = 1.0f / over_quad(all.sum[m][half], false);
      const int at = row + m * 16 + half * 8;
      if (at >= QUERIES) continue;
#pragma unroll
      for (int c = 0; c < COLUMNS / 8; ++c) {
        const int column = c * 8 + threadIdx.x % 4 * 2;
        const unsigned both = HALF::pair(all.o[m][c][half * 2] * inverse, all.o[m][c][half * 2 + 1] * inverse);
        unsigned short* to = out + at * (long long)R2 + column * (long long)R3;
        if (PAIRED) {
          if (column < REAL_COLUMNS) *(unsigned*)to = both;
        } else {
          if (column < REAL_COLUMNS) to[0] = (unsigned short)both;
          if (column + 1 < REAL_COLUMNS) to[R3] = (unsigned short)(both >> 16);
        }
      }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) ENTRY(const unsigned short* q, const unsigned short* k,
                                                        const unsigned short* v, MASK_PARAMETER unsigned short* out) {
  extern __shared__ __align__(16) unsigned short shared[];
  unsigned short* q_tile = shared;
  unsigned short* k_tiles = q_tile + rows_of_block * (DEPTH + 8);
  unsigned short* v_tiles = k_tiles + 2 * 64 * (DEPTH + 8);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, q0 = blockIdx.x * rows_of_block;
  const long long head = blockIdx.y, batch = blockIdx.z;
  let_next_begin();
  wait_for_previous();
  q += Q_FIRST + batch * Q0 + head * Q1;
  k += K_FIRST + batch * K0 + head * K1;
  v += V_FIRST + batch * V0 + head * V1;
  out += batch * R0 + head * R1;
  const auto load_keys = [&](int tile) {
    load_tile<DEPTH, WIDE_K>(k_tiles + tile % 2 * 64 * (DEPTH + 8), k, 64, tile * 64, KEYS, REAL_DEPTH, K3, K2);
    load_tile<COLUMNS, WIDE_V>(v_tiles + tile % 2 * 64 * (COLUMNS + 8), v, 64, tile * 64, KEYS, REAL_COLUMNS, V2, V3);
    commit_copies();
  };
  load_tile<DEPTH, WIDE_Q>(q_tile, q, rows_of_block, q0, QUERIES, REAL_DEPTH, Q2, Q3);
  load_keys(0);
  wait_for_copies<0>();
  __syncthreads();
  unsigned a[ROW_BLOCKS][DEPTH / 16][4];
#pragma unroll
  for (int m = 0; m < ROW_BLOCKS; ++m)
#pragma unroll
    for (int s = 0; s < DEPTH / 16; ++s)
      load_matrices(a[m][s], shared_address(q_tile + (warp * rows_of_warp + m * 16 + lane % 16) * (DEPTH + 8) + s * 16 + lane / 16 * 8));
  Softmax all;
#pragma unroll
  for (int m = 0; m < ROW_BLOCKS; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      all.most[m][half] = minus_infinity;
      all.sum[m][half] = 0.0f;
#pragma unroll
      for (int c = 0; c < COLUMNS / 8; ++c) all.o[m][c][half * 2] = all.o[m][c][half * 2 + 1] = 0.0f;
    }
  const int row = q0 + warp * rows_of_warp + lane / 4;
  constexpr int tiles = (KEYS + 63) / 64;
  for (int tile = 0; tile + 1 < tiles; ++tile) {
    load_keys(tile + 1);
    take_keys<4, false>(all, a, k_tiles + tile % 2 * 64 * (DEPTH + 8), v_tiles + tile % 2 * 64 * (COLUMNS + 8), tile * 64, row, MASK_ARGUMENT head, batch);
    wait_for_copies<0>();
    __syncthreads();
  }
  constexpr int last = tiles - 1;
  take_keys<(KEYS - last * 64 + 15) / 16, true>(all, a, k_tiles + last % 2 * 64 * (DEPTH + 8), v_tiles + last % 2 * 64 * (COLUMNS + 8), last * 64, row, MASK_ARGUMENT head, batch);
  put_rows(all, out, row);
}
)";

std::string defined(const std::string& name, int64_t value) { return fmt::format("#define {} {}LL\n", name, value); }
std::string defined(const std::string& name, const std::string& value) { return fmt::format("#define {} {}\n", name, value); }

std::string steps_text(char name, const std::array<int64_t, 4>& steps) {
  std::string result;
  for (size_t i = 0; i < steps.size(); ++i) result += defined(fmt::format("{}{}", name, i), steps[i]);
  return result;
}

// Whether rows can be read 16 bytes at a time: their elements next to each other, everything else multiples of eight of them.
bool is_wide(const std::array<int64_t, 4>& steps, int64_t columns, size_t column_axis) {
  if (steps[column_axis] != 1 || columns % 8 != 0) return false;
  for (size_t i = 0; i < steps.size(); ++i)
    if (i != column_axis && steps[i] % 8 != 0) return false;
  return true;
}

int64_t up(int64_t size) { return (size + 15) / 16 * 16; }

struct Layout : AttentionLayout {
  int row_blocks = 1;  // of 16 queries, for each of the four warps
  int64_t rows() const { return int64_t{64} * row_blocks; }
};

// Two blocks of queries share what is read of keys and values, but where that would mean to compute many queries that are not there.
int row_blocks_of(const Attention& a) {
  const auto padded = [&](int64_t rows) { return (a.queries + rows - 1) / rows * rows; };
  return up(a.depth) <= 64 && up(a.columns) <= 64 && padded(128) * 4 <= padded(64) * 5 ? 2 : 1;
}

std::string sizes_text(const Layout& layout) {
  const Attention& a = layout.attention;
  const auto& [q, k, v] = layout.first;
  std::string result = defined("QUERIES", fmt::format("{}", a.queries)) + defined("KEYS", fmt::format("{}", a.keys));
  result += defined("REAL_DEPTH", fmt::format("{}", a.depth)) + defined("REAL_COLUMNS", fmt::format("{}", a.columns));
  result += defined("DEPTH", fmt::format("{}", up(a.depth))) + defined("COLUMNS", fmt::format("{}", up(a.columns)));
  result += defined("THREADS", "128") + defined("ROW_BLOCKS", fmt::format("{}", layout.row_blocks));
  result += defined("Q_FIRST", q) + defined("K_FIRST", k) + defined("V_FIRST", v);
  result += attention_steps_text(a);
  const WideOperands wide = wide_operands(layout);
  result += defined("WIDE_Q", wide.query ? "true" : "false") + defined("WIDE_K", wide.key ? "true" : "false");
  return result + defined("WIDE_V", wide.value ? "true" : "false") + defined("PAIRED", wide.result ? "true" : "false");
}

// Scores are powers of two: e^x = 2^(x log2 e).
constexpr double log2_e = 1.4426950408889634;

// Elements before the operand's first, after its steps became those of what it is a part of; nullopt: it is none that can be read there.
std::optional<int64_t> as_part(const Lowering& lowering, ValueId id, Attention::Operand& operand) {
  const Part* part = lowering.part(id);
  if (part == nullptr || part->columns == 0) return std::nullopt;
  const int64_t pitch = lowering.shape(part->of).back();
  std::array<int64_t, 4> steps = operand.steps;
  for (int64_t& step : steps) {
    if (step % part->columns == 0)
      step = step / part->columns * pitch;
    else if (step > part->columns)
      return std::nullopt;
  }
  operand.steps = steps;
  return part->first;
}

// Reads query, key and value, each where it lies.
std::vector<Operand> read_operands(Lowering& lowering, const Node& node, Layout& layout) {
  std::vector<Operand> in;
  Attention& a = layout.attention;
  size_t i = 0;
  for (Attention::Operand* operand : {&a.query, &a.key, &a.value}) {
    ValueId id = node.inputs[operand->input];
    if (lowering.constant(id) != nullptr) return {};
    if (const auto first = as_part(lowering, id, *operand)) {
      layout.first[i] = *first;
      id = lowering.part(id)->of;
    }
    in.push_back(lowering.read(id, plain_form(lowering.numbers().stored, lowering.shape(id))));
    ++i;
  }
  return in;
}

}  // namespace

WideOperands wide_operands(const AttentionLayout& layout) {
  const Attention& a = layout.attention;
  const auto& [q, k, v] = layout.first;
  return {.query = q % 8 == 0 && is_wide(a.query.steps, a.depth, 3),
          .key = k % 8 == 0 && is_wide(a.key.steps, a.depth, 2),
          .value = v % 8 == 0 && is_wide(a.value.steps, a.columns, 3),
          .result = is_wide(a.result, a.columns, 3)};
}

std::string attention_steps_text(const Attention& a) {
  return steps_text('Q', a.query.steps) + steps_text('K', a.key.steps) + steps_text('V', a.value.steps) + steps_text('R', a.result);
}

std::string_view softmax_text() { return softmax; }

std::string attention_mask_text(const Attention& a, const Operand* mask) {
  // Scores stay as the products give them where nothing is added to them: the factor is then part of the power's multiply-add.
  const std::string scale = number_text(static_cast<float>(a.scale * log2_e)), one = number_text(static_cast<float>(log2_e));
  if (mask == nullptr) {
    const bool later = a.scale > 0;  // else the largest product is not the largest score
    return fmt::format("#define MASK_PARAMETER\n#define MASK_ARGUMENT\n#define MASK_OF_KEY\n#define MASKED {}\n#define FACTOR {}\n",
                       later ? "" : fmt::format("x *= {};", scale), later ? scale : "1.0f");
  }
  const auto& steps = a.mask->steps;
  const bool of_key = steps[2] == 0;  // the same for every query
  const std::string at = fmt::format("mask[batch * {}LL + head * {}LL + {} * {}LL + key * {}LL]", steps[0], steps[1],
                                     of_key ? "0" : "place", steps[2], steps[3]);
  // The least float stands for "none" in masks, too, and must not become infinite: a row of nothing else is a mean, not a number divided by
  // 0.
  const std::string there =
      fmt::format("key < KEYS{} ? fmaxf({}, -2.0e38f) : 0.0f", of_key ? "" : " && place < QUERIES", load_text(mask->form.element, at));
  std::string result =
      fmt::format("#define MASK_PARAMETER const {}* mask,\n#define MASK_ARGUMENT mask,\n#define FACTOR 1.0f\n", c_type(mask->form.element));
  result += fmt::format("#define MASK_OF_KEY {}\n", of_key ? fmt::format("const float added = ({}) * {};", there, one) : "");
  return result + fmt::format("#define MASKED x = fmaf(x, {}, {});\n", scale, of_key ? "added" : fmt::format("({}) * {}", there, one));
}

bool lower_attention(Lowering& lowering, const Operation& operation) {
  const Node& node = *operation.node;
  Layout layout{{.attention = attention_of(node)}};
  const Attention& a = layout.attention;
  const Element stored = lowering.numbers().stored;
  if (stored != Element::f16 && stored != Element::bf16) return false;
  if (a.depth > most_columns || a.columns > most_columns || a.queries == 0 || a.keys == 0 || a.batch * a.heads == 0) return false;
  if (a.heads > 65535 || a.batch > 65535 || lowering.chip().architecture < 80) return false;
  layout.row_blocks = row_blocks_of(a);
  layout.element = stored;
  std::vector<Operand> in = read_operands(lowering, node, layout);
  if (in.empty()) return false;
  if (a.mask) {
    const ValueId id = node.inputs[a.mask->input];
    const Operand made = lowering.native(id);
    if (kind_of(made.form.element) != Kind::number) return false;
    in.push_back(lowering.read(id, plain_form(made.form.element, made.shape)));
  }
  const Operand out = lowering.write(operation.output, plain_form(stored, lowering.shape(operation.output)));
  const std::string entry = lowering.new_entry("attention");
  const std::string mask_text = attention_mask_text(a, a.mask ? &in.back() : nullptr);
  lowering.count(operation, stored == Element::f16 ? "fp16" : "bf16");
  if (lowering.untried().hopper_attention) {
    if (auto launch = hopper_attention(layout, mask_text, entry, lowering.chip())) {
      lowering.step(operation, std::move(*launch), in, {out});
      return true;
    }
  }
  std::string source(kernel_prelude());
  source += sizes_text(layout) + mask_text + std::string(softmax);
  source += defined("ENTRY", entry);
  source += defined("PRODUCT", stored == Element::f16 ? "mma_f16" : "mma_bf16") + defined("HALF", stored == Element::f16 ? "F16" : "BF16");
  Launch launch = launch_over(entry, source + text, 1, in.size() + 1, 128);
  launch.grid = {static_cast<unsigned>((a.queries + layout.rows() - 1) / layout.rows()), static_cast<unsigned>(a.heads),
                 static_cast<unsigned>(a.batch)};
  launch.shared_bytes = static_cast<size_t>((layout.rows() + 128) * (up(a.depth) + 8) + 128 * (up(a.columns) + 8)) * 2;
  lowering.step(operation, std::move(launch), in, {out});
  return true;
}

}  // namespace deepgap::gpu
