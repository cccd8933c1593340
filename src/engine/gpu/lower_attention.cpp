// Attention in one kernel, for numbers of 16 bits: a block takes 64 queries of a head, goes over the keys 64 at a time, and keeps a softmax
// that is corrected as larger scores come (Milakov and Gimelshein 2018; Dao et al. 2022), so that scores are never in memory. Products by
// mma.sync, sums in float32.
#include "engine/gpu/generated.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/operators.h"
#include "engine/passes/attention.h"

#include <fmt/format.h>

namespace deepgap::gpu {
namespace {

constexpr int64_t most_columns = 128;

constexpr const char* text = R"(
// [64][width] of halves: rows row0 and on of a matrix of which `limit` rows are there; columns past `columns` are zero.
template <int WIDTH, bool WIDE> __device__ __forceinline__ void load_tile(unsigned short* to, const unsigned short* from, int row0, int limit,
                                                                        int columns, long long row_step, long long column_step) {
  if (WIDE) {
    for (int e = threadIdx.x; e < 64 * (WIDTH / 8); e += 128) {
      const int row = e / (WIDTH / 8), column = e % (WIDTH / 8) * 8;
      const bool valid = row0 + row < limit && column < columns;
      cp_async16(shared_address(to + row * (WIDTH + 8) + column), from + (valid ? (row0 + row) * row_step + column : 0), valid);
    }
  } else {
    for (int e = threadIdx.x; e < 64 * WIDTH; e += 128) {
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
__device__ __forceinline__ float over_quad(float x, bool largest) {
  for (int step = 1; step < 4; step *= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, x, step);
    x = largest ? fmaxf(x, other) : x + other;
  }
  return x;
}

extern "C" __global__ void __launch_bounds__(128) ENTRY(const unsigned short* q, const unsigned short* k,
                                                        const unsigned short* v, MASK_PARAMETER unsigned short* out) {
  extern __shared__ __align__(16) unsigned short shared[];
  unsigned short* q_tile = shared;
  unsigned short* k_tiles = q_tile + 64 * (DEPTH + 8);
  unsigned short* v_tiles = k_tiles + 2 * 64 * (DEPTH + 8);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, q0 = blockIdx.x * 64;
  const long long head = blockIdx.y, batch = blockIdx.z;
  let_next_begin();
  wait_for_previous();
  q += batch * Q0 + head * Q1;
  k += batch * K0 + head * K1;
  v += batch * V0 + head * V1;
  out += batch * R0 + head * R1;
  const auto load_keys = [&](int tile) {
    load_tile<DEPTH, WIDE_K>(k_tiles + tile % 2 * 64 * (DEPTH + 8), k, tile * 64, KEYS, REAL_DEPTH, K3, K2);
    load_tile<COLUMNS, WIDE_V>(v_tiles + tile % 2 * 64 * (COLUMNS + 8), v, tile * 64, KEYS, REAL_COLUMNS, V2, V3);
    commit_copies();
  };
  load_tile<DEPTH, WIDE_Q>(q_tile, q, q0, QUERIES, REAL_DEPTH, Q2, Q3);
  load_keys(0);
  wait_for_copies<0>();
  __syncthreads();
  unsigned a[DEPTH / 16][4];
#pragma unroll
  for (int s = 0; s < DEPTH / 16; ++s)
    load_matrices(a[s], shared_address(q_tile + (warp * 16 + lane % 16) * (DEPTH + 8) + s * 16 + lane / 16 * 8));
  float o[COLUMNS / 8][4] = {};
  float most[2] = {-1.0f / 0.0f, -1.0f / 0.0f}, sum[2] = {0.0f, 0.0f};
  const int row = q0 + warp * 16 + lane / 4;
  constexpr int tiles = (KEYS + 63) / 64;
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles) load_keys(tile + 1);
    const unsigned short* k_tile = k_tiles + tile % 2 * 64 * (DEPTH + 8);
    const unsigned short* v_tile = v_tiles + tile % 2 * 64 * (COLUMNS + 8);
    float s[8][4] = {};
#pragma unroll
    for (int d = 0; d < DEPTH / 16; ++d)
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        unsigned b[4];
        load_matrices(b, shared_address(k_tile + (n * 16 + lane % 8 + lane / 16 * 8) * (DEPTH + 8) + d * 16 + lane / 8 % 2 * 8));
        PRODUCT(s[2 * n][0], s[2 * n][1], s[2 * n][2], s[2 * n][3], a[d], b[0], b[1]);
        PRODUCT(s[2 * n + 1][0], s[2 * n + 1][1], s[2 * n + 1][2], s[2 * n + 1][3], a[d], b[2], b[3]);
      }
    float larger[2] = {most[0], most[1]};
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int key = tile * 64 + n * 8 + lane % 4 * 2 + e % 2;
        float x = s[n][e] * SCALE;
        MASKED
        if (KEYS % 64 != 0 && key >= KEYS) x = -1.0f / 0.0f;
        s[n][e] = x;
        larger[e / 2] = fmaxf(larger[e / 2], x);
      }
    float less[2], part[2] = {0.0f, 0.0f}, base[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      larger[half] = over_quad(larger[half], true);
      base[half] = larger[half] == -1.0f / 0.0f ? 0.0f : larger[half];
      less[half] = exp2f(most[half] - base[half]);
      most[half] = larger[half];
    }
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        s[n][e] = exp2f(s[n][e] - base[e / 2]);
        part[e / 2] += s[n][e];
      }
#pragma unroll
    for (int half = 0; half < 2; ++half) sum[half] = sum[half] * less[half] + part[half];
#pragma unroll
    for (int c = 0; c < COLUMNS / 8; ++c)
#pragma unroll
      for (int e = 0; e < 4; ++e) o[c][e] *= less[e / 2];
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const unsigned p[4] = {HALF::pair(s[2 * n][0], s[2 * n][1]), HALF::pair(s[2 * n][2], s[2 * n][3]),
                             HALF::pair(s[2 * n + 1][0], s[2 * n + 1][1]), HALF::pair(s[2 * n + 1][2], s[2 * n + 1][3])};
#pragma unroll
      for (int c = 0; c < COLUMNS / 16; ++c) {
        unsigned b[4];
        load_turned(b, shared_address(v_tile + (n * 16 + lane % 16) * (COLUMNS + 8) + c * 16 + lane / 16 * 8));
        PRODUCT(o[2 * c][0], o[2 * c][1], o[2 * c][2], o[2 * c][3], p, b[0], b[1]);
        PRODUCT(o[2 * c + 1][0], o[2 * c + 1][1], o[2 * c + 1][2], o[2 * c + 1][3], p, b[2], b[3]);
      }
    }
    wait_for_copies<0>();
    __syncthreads();
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float inverse = 1.0f / over_quad(sum[half], false);
    const int at = row + half * 8;
    if (at >= QUERIES) continue;
#pragma unroll
    for (int c = 0; c < COLUMNS / 8; ++c) {
      const int column = c * 8 + lane % 4 * 2;
      const unsigned both = HALF::pair(o[c][half * 2] * inverse, o[c][half * 2 + 1] * inverse);
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

std::string sizes_text(const Attention& a) {
  std::string result = defined("QUERIES", fmt::format("{}", a.queries)) + defined("KEYS", fmt::format("{}", a.keys));
  result += defined("REAL_DEPTH", fmt::format("{}", a.depth)) + defined("REAL_COLUMNS", fmt::format("{}", a.columns));
  result += defined("DEPTH", fmt::format("{}", up(a.depth))) + defined("COLUMNS", fmt::format("{}", up(a.columns)));
  result += steps_text('Q', a.query.steps) + steps_text('K', a.key.steps) + steps_text('V', a.value.steps) + steps_text('R', a.result);
  result += defined("WIDE_Q", is_wide(a.query.steps, a.depth, 3) ? "true" : "false");
  result += defined("WIDE_K", is_wide(a.key.steps, a.depth, 2) ? "true" : "false");
  result += defined("WIDE_V", is_wide(a.value.steps, a.columns, 3) ? "true" : "false");
  return result + defined("PAIRED", is_wide(a.result, a.columns, 3) ? "true" : "false");
}

// Scores are powers of two: e^x = 2^(x log2 e).
constexpr double log2_e = 1.4426950408889634;

std::string mask_text(const Attention& a, const Operand* mask) {
  if (mask == nullptr) return "#define MASK_PARAMETER\n#define MASKED\n";
  const auto& steps = a.mask->steps;
  const std::string at =
      fmt::format("mask[batch * {}LL + head * {}LL + (row + e / 2 * 8) * {}LL + key * {}LL]", steps[0], steps[1], steps[2], steps[3]);
  return fmt::format("#define MASK_PARAMETER const {}* mask,\n#define MASKED if (key < KEYS && row + e / 2 * 8 < QUERIES) x += {} * {};\n",
                     c_type(mask->form.element), load_text(mask->form.element, at), number_text(static_cast<float>(log2_e)));
}

}  // namespace

bool lower_attention(Lowering& lowering, const Operation& operation) {
  const Node& node = *operation.node;
  const Attention a = attention_of(node);
  const Element stored = lowering.numbers().stored;
  if (stored != Element::f16 && stored != Element::bf16) return false;
  if (a.depth > most_columns || a.columns > most_columns || a.queries == 0 || a.keys == 0 || a.batch * a.heads == 0) return false;
  if (a.heads > 65535 || a.batch > 65535 || lowering.chip().architecture < 80) return false;
  std::vector<Operand> in;
  for (const auto* operand : {&a.query, &a.key, &a.value}) {
    const ValueId id = node.inputs[operand->input];
    if (lowering.constant(id) != nullptr) return false;
    in.push_back(lowering.read(id, plain_form(stored, lowering.shape(id))));
  }
  if (a.mask) {
    const ValueId id = node.inputs[a.mask->input];
    const Operand made = lowering.native(id);
    if (kind_of(made.form.element) != Kind::number) return false;
    in.push_back(lowering.read(id, plain_form(made.form.element, made.shape)));
  }
  const Operand out = lowering.write(operation.output, plain_form(stored, lowering.shape(operation.output)));
  const std::string entry = lowering.new_entry("attention");
  std::string source(kernel_prelude());
  source += conversion_functions() + sizes_text(a) + mask_text(a, a.mask ? &in.back() : nullptr);
  source += defined("ENTRY", entry) + defined("SCALE", number_text(static_cast<float>(a.scale * log2_e)));
  source += defined("PRODUCT", stored == Element::f16 ? "mma_f16" : "mma_bf16") + defined("HALF", stored == Element::f16 ? "F16" : "BF16");
  Launch launch = launch_over(entry, source + text, 1, in.size() + 1, 128);
  launch.grid = {static_cast<unsigned>((a.queries + 63) / 64), static_cast<unsigned>(a.heads), static_cast<unsigned>(a.batch)};
  launch.shared_bytes = static_cast<size_t>(64 * (up(a.depth) + 8) * 3 + 64 * (up(a.columns) + 8) * 2) * 2;
  lowering.count(operation, stored == Element::f16 ? "fp16" : "bf16");
  lowering.step(operation, std::move(launch), in, {out});
  return true;
}

}  // namespace deepgap::gpu
