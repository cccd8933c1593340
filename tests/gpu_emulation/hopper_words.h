// What attention's kernel for Hopper expects of CUDA, played by the host: threads of a block take turns, the copy engine copies at once in
// the order in which it permutes rows, and each thread computes its own sums of a warpgroup's product from shared memory as wgmma's
// descriptors say where it lies.
#pragma once

namespace deepgap::gpu {

constexpr const char* hopper_words = R"(
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <ucontext.h>
#include <vector>
using namespace std;
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__
#define asm
#define volatile(...)
typedef unsigned long long u64;
struct Place { unsigned x, y, z; };
struct uint4 { unsigned x, y, z, w; };
static uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static Place blockIdx, threadIdx;
alignas(1024) static unsigned char shared_memory[1 << 18];
// 16-bit numbers in four axes, the innermost first, and the box that one copy brings.
struct Map { const unsigned short* from; long long sizes[4], steps[4]; int box[4]; };

struct Fiber { ucontext_t context; std::unique_ptr<char[]> stack; bool ended = false; };
static std::vector<Fiber> fibers;
static ucontext_t turns;
static void (*body)() = nullptr;
static unsigned threads = 0;
static void __attribute__((noinline)) give_turn() { swapcontext(&fibers[threadIdx.x].context, &turns); }
static void run_fiber() { body(); fibers[threadIdx.x].ended = true; give_turn(); }
struct Meeting {
  unsigned came = 0, round = 0;
  void meet(unsigned all) {
    const unsigned mine = round;
    if (++came == all) { came = 0; ++round; return; }
    while (round == mine) give_turn();
  }
};
static Meeting of_block, of_warp[64];
static void __syncthreads() { of_block.meet(threads); }
static unsigned exchanged[1024][8];
static void meet_warp() { of_warp[threadIdx.x / 32].meet(32); }
static unsigned __shfl_xor_sync(unsigned, unsigned x, int step) {
  exchanged[threadIdx.x][0] = x;
  meet_warp();
  const unsigned other = exchanged[threadIdx.x ^ step][0];
  meet_warp();
  return other;
}
static float __shfl_xor_sync(unsigned all, float x, int step) {
  unsigned bits; memcpy(&bits, &x, 4);
  bits = __shfl_xor_sync(all, bits, step);
  memcpy(&x, &bits, 4);
  return x;
}
static float number(unsigned short bits) { _Float16 y; memcpy(&y, &bits, 2); return (float)y; }
struct F16 {
  static unsigned pair(float low, float high) {
    _Float16 both[2] = {(_Float16)low, (_Float16)high};
    unsigned word; memcpy(&word, both, 4);
    return word;
  }
};
static void let_next_begin() {}
static void wait_for_previous() {}
static void begin_products() {}
static void commit_products() {}
template <int N> static void wait_for_products() {}
static void keep(float&) {}
static void barriers_made() {}
static unsigned shared_address(const void* p) { return (unsigned)((const unsigned char*)p - shared_memory); }

// Barriers by their address: bytes that are still to come, phases that have ended.
struct Barrier { long long bytes = 0; unsigned ended = 0; };
static std::map<unsigned, Barrier> barriers;
static void make_barrier(unsigned at, unsigned) { barriers[at] = {}; }
static void expect_bytes(unsigned at, unsigned bytes) { barriers.at(at).bytes += bytes; }
static void wait_for(unsigned at, unsigned parity) { while ((barriers.at(at).ended & 1) == parity) give_turn(); }
static unsigned permuted(unsigned address) { return address ^ ((address >> 7 & 7) << 4); }
static void copy_box(unsigned to, const Map& map, unsigned barrier, int column, int second, int third, int fourth) {
  const int first[4] = {column, second, third, fourth};
  const int count = map.box[0] * map.box[1] * map.box[2] * map.box[3];
  for (int i = 0; i < count; ++i) {
    long long place = 0;
    bool inside = true;
    for (int axis = 0, rest = i; axis < 4; rest /= map.box[axis++]) {
      const long long at = first[axis] + rest % map.box[axis];
      inside = inside && at < map.sizes[axis];
      place += at * map.steps[axis];
    }
    const unsigned short value = inside ? map.from[place] : (unsigned short)0;
    memcpy(shared_memory + permuted(to + 2 * i), &value, 2);
  }
  Barrier& of = barriers.at(barrier);
  of.bytes -= 2 * count;
  if (of.bytes == 0) ++of.ended;
}
template <int row_bytes> static u64 rows_at(unsigned address) { return (u64)((address & 0x3ffff) >> 4) | (u64)(row_bytes * 8 / 16) << 32; }
static float at_row(u64 rows, int row, int byte) {
  const unsigned start = (unsigned)(rows & 0x3fff) << 4, groups = (unsigned)(rows >> 32 & 0x3fff) << 4;
  unsigned short bits;
  memcpy(&bits, shared_memory + permuted(start + row / 8 * groups + row % 8 * 128 + byte), 2);
  return number(bits);
}
static int own_row(int half) { return threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4 + 8 * half; }
template <int N> static void product(float (&d)[N], u64 a, u64 b, int add) {
  for (int i = 0; i < N; ++i) {
    const int row = own_row(i / 2 % 2), column = i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
    float sum = add ? d[i] : 0.0f;
    for (int k = 0; k < 16; ++k) sum += at_row(a, row, 2 * k) * at_row(b, column, 2 * k);
    d[i] = sum;
  }
}
template <int N> static void product_with_turned(float (&d)[N], const unsigned (&a)[4], u64 b, int add) {
  memcpy(exchanged[threadIdx.x], a, 16);
  meet_warp();
  for (int i = 0; i < N; ++i) {
    const int half = i / 2 % 2, column = i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
    float sum = add ? d[i] : 0.0f;
    for (int k = 0; k < 16; ++k) {
      const unsigned word = exchanged[threadIdx.x / 4 * 4 + k % 8 / 2][k / 8 * 2 + half];
      sum += number((unsigned short)(k % 2 ? word >> 16 : word)) * at_row(b, k, 2 * column);
    }
    d[i] = sum;
  }
  meet_warp();
}
static float power_of_two(float x) { return exp2f(x); }
template <typename F> static void run_blocks(const unsigned* grid, unsigned count, F thread) {
  static F* now;
  now = &thread;
  body = [] { (*now)(); };
  threads = count;
  fibers.resize(count);
  for (blockIdx.z = 0; blockIdx.z < grid[2]; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < grid[1]; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < grid[0]; ++blockIdx.x) {
        for (Fiber& fiber : fibers) {
          if (!fiber.stack) fiber.stack.reset(new char[128 << 10]);
          getcontext(&fiber.context);
          fiber.context.uc_stack = {fiber.stack.get(), 0, 128 << 10};
          fiber.context.uc_link = nullptr;
          fiber.ended = false;
          makecontext(&fiber.context, run_fiber, 0);
        }
        for (unsigned left = count; left > 0;)
          for (unsigned t = 0; t < count; ++t) {
            if (fibers[t].ended) continue;
            threadIdx = {t, 0, 0};
            swapcontext(&turns, &fibers[t].context);
            if (fibers[t].ended) --left;
          }
      }
}
)";

}  // namespace deepgap::gpu
