#include "ceilings/gpu_ceiling_kernels.h"

#include <fmt/format.h>

#include <string_view>

namespace deepgap {
namespace {

constexpr int lane_sums = 16;   // independent sums of a thread: more than the latency takes
constexpr int lane_steps = 16;  // steps of each sum in a round

// A value that no sum reaches, though no compiler knows that. A value outside the type's own, as 0.1234567 for a sum of integers, would let
// the compiler leave all the work out.
const char* never(std::string_view type) { return type == "float" ? "0.1234567f" : "0x5bd1e995"; }

// `step` multiplies and adds to x[i] once; `macs`: of one step of one thread.
GpuComputeKernel lane_kernel(const char* precision, const char* name, const std::string& entry, const char* type, const char* begin,
                             const char* step, double macs) {
  GpuComputeKernel kernel{.precision = precision, .name = name, .entry = entry};
  kernel.threads = 256;
  kernel.blocks_per_multiprocessor = 4;
  kernel.flop_per_round = 2 * macs * lane_sums * lane_steps * kernel.threads;
  kernel.text = fmt::format(R"(
extern "C" __global__ void __launch_bounds__(256) {}(float* out, int rounds, float one) {{
  {} x[{}];
  {}
#pragma unroll
  for (int i = 0; i < {}; i++) x[i] = first + i;
#pragma unroll 1
  for (int round = 0; round < rounds; round++) {{
#pragma unroll
    for (int k = 0; k < {}; k++)
#pragma unroll
      for (int i = 0; i < {}; i++) {{ {} }}
  }}
  {} sum = x[0];
#pragma unroll
  for (int i = 1; i < {}; i++) sum += x[i];
  if (sum == {}) *out = (float)sum;
}}
)",
                            entry, type, lane_sums, begin, lane_sums, lane_steps, lane_sums, step, type, lane_sums, never(type));
  return kernel;
}

// Random signs, so that sums stay small, and random last digits: what switches few transistors would be faster than any real data where
// power is the limit.
struct Pattern {
  const char* keep;
  const char* set;
};

std::string fill_text(const Pattern& pattern) {
  return fmt::format(R"(
__device__ __forceinline__ unsigned value(unsigned i) {{
  i = (i ^ 61) ^ (i >> 16);
  i *= 9;
  i ^= i >> 4;
  i *= 0x27d4eb2d;
  i ^= i >> 15;
  return (i & {}) | {};
}}
)",
                     pattern.keep, pattern.set);
}

constexpr Pattern f16_pattern{"0x83ff83ffu", "0x38003800u"}, bf16_pattern{"0x807f807fu", "0x3f003f00u"},
    tf32_pattern{"0x807fe000u", "0x3f000000u"}, e4m3_pattern{"0x87878787u", "0x30303030u"}, s8_pattern{"0xffffffffu", "0u"};

// One product of a warp on registers (mma.sync).
struct WarpProduct {
  const char* precision;
  const char* shape;  // "m16n8k16"
  const char* types;  // "f32.f16.f16.f32"
  int m, n, k;
  int a, b, c;  // registers of each
  bool whole;   // sums are integers
  Pattern pattern;
  int products = 1;  // number that one instruction does: m8n8k4 is four of quarters of a warp
};

std::string numbered(const char* format, int first, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", fmt::format(fmt::runtime(format), first + i));
  return text;
}

GpuComputeKernel warp_kernel(const WarpProduct& p) {
  constexpr int sums = 8, steps = 4, warps = 8;
  GpuComputeKernel kernel{
      .precision = p.precision, .name = fmt::format("mma.sync {}", p.shape), .entry = fmt::format("mma_{}", p.precision)};
  kernel.threads = 32 * warps;
  kernel.flop_per_round = 2.0 * p.m * p.n * p.k * p.products * sums * steps * warps;
  const char* type = p.whole ? "int" : "float";
  const char constraint = p.whole ? 'r' : 'f';
  std::string outputs, inputs;
  for (int i = 0; i < p.c; ++i) outputs += fmt::format("{}\"+{}\"(c[s][{}])", i == 0 ? "" : ", ", constraint, i);
  for (int i = 0; i < p.a; ++i) inputs += fmt::format("{}\"r\"(a[{}])", i == 0 ? "" : ", ", i);
  for (int i = 0; i < p.b; ++i) inputs += fmt::format(", \"r\"(b[{}])", i);
  kernel.text =
      fill_text(p.pattern) + fmt::format(R"(
extern "C" __global__ void __launch_bounds__({}) {}(float* out, int rounds, float one) {{
  unsigned a[{}], b[{}];
  {} c[{}][{}];
#pragma unroll
  for (int i = 0; i < {}; i++) a[i] = value(threadIdx.x * 8 + i);
#pragma unroll
  for (int i = 0; i < {}; i++) b[i] = value(threadIdx.x * 8 + 4 + i);
#pragma unroll
  for (int s = 0; s < {}; s++)
#pragma unroll
    for (int i = 0; i < {}; i++) c[s][i] = 0;
#pragma unroll 1
  for (int round = 0; round < rounds; round++) {{
#pragma unroll
    for (int k = 0; k < {}; k++)
#pragma unroll
      for (int s = 0; s < {}; s++)
        asm volatile("mma.sync.aligned.{}.row.col.{} {{{}}}, {{{}}}, {{{}}}, {{{}}};" : {} : {});
  }}
  {} sum = 0;
#pragma unroll
  for (int s = 0; s < {}; s++)
#pragma unroll
    for (int i = 0; i < {}; i++) sum += c[s][i];
  if (sum == {}) *out = (float)sum;
}}
)",
                                         kernel.threads, kernel.entry, p.a, p.b, type, sums, p.c, p.a, p.b, sums, p.c, steps, sums, p.shape,
                                         p.types, numbered("%{}", 0, p.c), numbered("%{}", p.c, p.a), numbered("%{}", p.c + p.a, p.b),
                                         numbered("%{}", 0, p.c), outputs, inputs, type, sums, p.c, never(type));
  return kernel;
}

// Products of four warps out of shared memory (Hopper's wgmma): two teams, which share the right matrix.
struct TeamProduct {
  const char* precision;
  const char* shape;
  const char* types;  // "f32.f16.f16"
  const char* flags;  // after the descriptors and the predicate
  int k;
  bool whole;
  Pattern pattern;
};

GpuComputeKernel team_kernel(const TeamProduct& p) {
  constexpr int teams = 2, parts = 4;  // parts: products over the 128 bytes of a row
  GpuComputeKernel kernel{
      .precision = p.precision, .name = fmt::format("wgmma {}", p.shape), .entry = fmt::format("wgmma_{}", p.precision)};
  kernel.threads = 128 * teams;
  kernel.blocks_per_multiprocessor = 1;
  kernel.shared_bytes = 1024 + teams * 64 * 128 + 256 * 128;
  kernel.flop_per_round = 2.0 * 64 * 256 * p.k * parts * teams;
  const char* type = p.whole ? "int" : "float";
  const char constraint = p.whole ? 'r' : 'f';
  std::string outputs;
  for (int i = 0; i < 128; ++i) outputs += fmt::format("{}\"+{}\"(c[{}])", i == 0 ? "" : ", ", constraint, i);
  kernel.text =
      fill_text(p.pattern) + fmt::format(R"(
typedef unsigned long long u64;
// Rows of 128 bytes in groups of eight, permuted within 128 bytes.
__device__ __forceinline__ u64 rows_at(unsigned address) {{
  return (u64)((address & 0x3ffff) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}}
__device__ __forceinline__ void product({} (&c)[128], u64 a, u64 b) {{
  asm volatile("{{ .reg .pred p;\nsetp.ne.b32 p, 1, 0;\nwgmma.mma_async.sync.aligned.{}.{} {{{}}}, %128, %129, p{}; }}"
               : {} : "l"(a), "l"(b));
}}
extern "C" __global__ void __launch_bounds__({}, 1) {}(float* out, int rounds, float one) {{
  extern __shared__ unsigned char memory[];
  unsigned begin;
  asm("{{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }}" : "=r"(begin) : "l"(memory));
  const unsigned base = (begin + 1023) & ~1023u;
  unsigned* words = (unsigned*)(memory + (base - begin));
  for (int i = threadIdx.x; i < {}; i += blockDim.x) words[i] = value(i);
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  const unsigned left = base + threadIdx.x / 128 * (64 * 128), right = base + {} * (64 * 128);
  {} c[128];
#pragma unroll
  for (int i = 0; i < 128; i++) c[i] = 0;
#pragma unroll 1
  for (int round = 0; round < rounds; round++) {{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int i = 0; i < {}; i++) product(c, rows_at(left + 32 * i), rows_at(right + 32 * i));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
  }}
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  {} sum = 0;
#pragma unroll
  for (int i = 0; i < 128; i++) {{
    asm volatile("" : "+{}"(c[i])::"memory");
    sum += c[i];
  }}
  if (sum == {}) *out = (float)sum;
}}
)",
                                         type, p.shape, p.types, numbered("%{}", 0, 128), p.flags, outputs, kernel.threads, kernel.entry,
                                         (teams * 64 + 256) * 32, teams, type, parts, type, constraint, never(type));
  return kernel;
}

void add_team_products(std::vector<GpuComputeKernel>& kernels) {
  for (const TeamProduct& product : {TeamProduct{"tf32", "m64n256k8", "f32.tf32.tf32", ", 1, 1", 8, false, tf32_pattern},
                                     TeamProduct{"fp16", "m64n256k16", "f32.f16.f16", ", 1, 1, 0, 0", 16, false, f16_pattern},
                                     TeamProduct{"bf16", "m64n256k16", "f32.bf16.bf16", ", 1, 1, 0, 0", 16, false, bf16_pattern},
                                     TeamProduct{"fp8", "m64n256k32", "f32.e4m3.e4m3", ", 1, 1", 32, false, e4m3_pattern},
                                     TeamProduct{"int8", "m64n256k32", "s32.s8.s8", "", 32, true, s8_pattern}})
    kernels.push_back(team_kernel(product));
}

void add_warp_products(int architecture, std::vector<GpuComputeKernel>& kernels) {
  std::vector<WarpProduct> products;
  if (architecture >= 80) {
    products = {{"tf32", "m16n8k8", "f32.tf32.tf32.f32", 16, 8, 8, 4, 2, 4, false, tf32_pattern},
                {"fp16", "m16n8k16", "f32.f16.f16.f32", 16, 8, 16, 4, 2, 4, false, f16_pattern},
                {"bf16", "m16n8k16", "f32.bf16.bf16.f32", 16, 8, 16, 4, 2, 4, false, bf16_pattern},
                {"int8", "m16n8k32", "s32.s8.s8.s32", 16, 8, 32, 4, 2, 4, true, s8_pattern}};
    if (architecture >= 89) products.push_back({"fp8", "m16n8k32", "f32.e4m3.e4m3.f32", 16, 8, 32, 4, 2, 4, false, e4m3_pattern});
  } else if (architecture >= 75) {
    products = {{"fp16", "m16n8k8", "f32.f16.f16.f32", 16, 8, 8, 2, 1, 4, false, f16_pattern},
                {"int8", "m8n8k16", "s32.s8.s8.s32", 8, 8, 16, 1, 1, 2, true, s8_pattern}};
  } else if (architecture >= 70) {
    products = {{"fp16", "m8n8k4", "f32.f16.f16.f32", 8, 8, 4, 2, 2, 8, false, f16_pattern, 4}};
  }
  for (const WarpProduct& product : products) kernels.push_back(warp_kernel(product));
}

constexpr std::string_view memory_text = R"(
__device__ __forceinline__ uint4 load_far(const uint4* from) {
  uint4 w;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w) : "l"(from) : "memory");
  return w;
}
__device__ __forceinline__ uint4 load_near(const uint4* from) {
  uint4 w;
  asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w) : "l"(from) : "memory");
  return w;
}
__device__ __forceinline__ uint4 load_shared(unsigned from) {
  uint4 w;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w) : "r"(from) : "memory");
  return w;
}
__device__ __forceinline__ void add(uint4& sum, uint4 w) { sum.x ^= w.x; sum.y ^= w.y; sum.z ^= w.z; sum.w ^= w.w; }
__device__ __forceinline__ void keep(uint4 sum, uint4* out) {
  if ((sum.x ^ sum.y ^ sum.z ^ sum.w) == 0x12345678u && sum.x == 0x9abcdef0u) *out = sum;
}
// All words, four of a thread under way at a time; `take` gets the place of each and the word.
template <typename Take>
__device__ __forceinline__ void go_through(const uint4* from, long long count, int passes, const Take& take) {
  const long long step = (long long)gridDim.x * blockDim.x, first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
  for (int pass = 0; pass < passes; pass++) {
    long long i = first;
    for (; i + 3 * step < count; i += 4 * step) {
      uint4 w[4];
#pragma unroll
      for (int k = 0; k < 4; k++) w[k] = load_far(from + i + k * step);
#pragma unroll
      for (int k = 0; k < 4; k++) take(i + k * step, w[k]);
    }
    for (; i < count; i += step) take(i, load_far(from + i));
  }
}
extern "C" __global__ void __launch_bounds__(256) read_memory(const uint4* from, long long count, int passes, uint4* out) {
  uint4 sum = make_uint4(0, 0, 0, 0);
  go_through(from, count, passes, [&](long long, uint4 w) { add(sum, w); });
  keep(sum, out);
}
extern "C" __global__ void __launch_bounds__(256) copy_memory(const uint4* from, uint4* to, long long count, int passes) {
  go_through(from, count, passes, [&](long long i, uint4 w) { to[i] = w; });
}
// The same two words of each thread, as load(0) and load(1) give them, `passes` times. `step` is none, which the assembler must not know: it
// reads once what no pass changes.
template <typename Load>
__device__ __forceinline__ void read_again(int passes, int step, uint4* out, const Load& load) {
  uint4 sum = make_uint4(0, 0, 0, 0);
#pragma unroll 4
  for (int pass = 0; pass < passes; pass++) {
    uint4 w[2];
#pragma unroll
    for (int k = 0; k < 2; k++) w[k] = load(k, pass * step);
#pragma unroll
    for (int k = 0; k < 2; k++) add(sum, w[k]);
  }
  keep(sum, out);
}
extern "C" __global__ void __launch_bounds__(1024) read_near(const uint4* from, int passes, int step, uint4* out) {
  const uint4* own = from + (long long)blockIdx.x * (32768 / 16) + threadIdx.x;
  read_again(passes, step, out, [&](int k, int moved) { return load_near(own + k * 1024 + moved); });
}
extern "C" __global__ void __launch_bounds__(1024) read_shared(int passes, int step, uint4* out) {
  __shared__ uint4 memory[2048];
  for (int i = threadIdx.x; i < 2048; i += blockDim.x) memory[i] = make_uint4(i, i * 3, i * 5, i * 7);
  __syncthreads();
  unsigned own;
  asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(own) : "l"(memory + threadIdx.x));
  read_again(passes, step, out, [&](int k, int moved) { return load_shared(own + k * 16384 + moved); });
}
extern "C" __global__ void nothing() {}
)";

}  // namespace

std::vector<GpuComputeKernel> gpu_compute_kernels(int architecture) {
  std::vector<GpuComputeKernel> kernels;
  kernels.push_back(lane_kernel("fp32", "FFMA", "lanes_fp32", "float", "const float add = one * 0.5f; float first = threadIdx.x;",
                                "x[i] = fmaf(x[i], one, add);", 1));
  if (architecture == 60 || architecture >= 70)
    kernels.push_back(
        lane_kernel("fp16", "HFMA2", "lanes_fp16", "unsigned",
                    "const unsigned factor = one == 1 ? 0x38003800u : 0x34003400u; unsigned first = 0x3a003a00u + threadIdx.x;",
                    "asm volatile(\"fma.rn.f16x2 %0, %0, %1, %1;\" : \"+r\"(x[i]) : \"r\"(factor));", 2));
  if (architecture >= 61)
    kernels.push_back(lane_kernel("int8", "DP4A", "lanes_int8", "int",
                                  "const int factor = one == 1 ? 0x01ff7f03 : 7; int first = threadIdx.x;",
                                  "asm volatile(\"dp4a.s32.s32 %0, %0, %1, %0;\" : \"+r\"(x[i]) : \"r\"(factor));", 4));
  if (architecture == 90)
    add_team_products(kernels);
  else
    add_warp_products(architecture, kernels);
  return kernels;
}

std::string gpu_target(int architecture) { return fmt::format("sm_{}{}", architecture, architecture >= 90 ? "a" : ""); }

const char* gpu_memory_text() { return memory_text.data(); }

}  // namespace deepgap
