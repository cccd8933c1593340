// What the kernels for Hopper expect of CUDA, played by the host, after host_numbers: a block's threads take turns; the copy
// engine brings what was ordered some time later, in any order, and permutes rows as it does; each thread computes its own sums of a
// warpgroup's product from shared memory as wgmma's descriptors say where it lies, no sooner than it waits for them. Where all threads wait
// for what will never come the run ends.
#pragma once

#include "host_compiler.h"

#include <array>
#include <cstddef>
#include <string>

namespace deepgap::gpu {

// A tile description of the copy engine, as its `Map` has it.
struct HostMap {
  const std::byte* from = nullptr;
  std::array<long long, 4> sizes{1, 1, 1, 1}, steps{};  // innermost first; steps in bytes
  std::array<int, 4> box{1, 1, 1, 1};                   // what one copy brings; for convolutions channels, pixels
  int element_bytes = 2, row_bytes = 128;               // row_bytes: by which rows are permuted in shared memory
  std::array<int, 2> lower{}, upper{}, strides{1, 1};   // for convolutions: corners of the box of first places, and how far these are apart
};

constexpr const char* hopper_words = R"(
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
struct uint2 { unsigned x, y; };
struct uint4 { unsigned x, y, z, w; };
static uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
struct Map {
  const unsigned char* from;
  long long sizes[4], steps[4];
  int box[4], element_bytes, row_bytes, lower[2], upper[2], strides[2];
};

// What hopper_player has.
#pragma GCC visibility push(hidden)
extern Place blockIdx, threadIdx, gridDim;
static const unsigned most_threads = 640;
extern unsigned char shared_of_block[1 << 18];
#define shared_memory shared_of_block
extern unsigned me;  // the thread whose turn it is
extern const char* broken;
extern unsigned exchanged[most_threads][8];
void __syncthreads();
void meet(int number, int all);
void meet_warp();
void make_barrier(unsigned at, unsigned count);
void arrive(unsigned at);
void expect_bytes(unsigned at, unsigned bytes);
void wait_for(unsigned at, unsigned parity);
void copy_box(unsigned to, const Map& map, unsigned barrier, int column, int second, int third, int fourth);
void copy_rows(unsigned to, const Map& map, unsigned barrier, int column, int row);
void copy_pixels(unsigned to, const Map& map, unsigned barrier, int channel, int x, int y, int image, int right, int down);
void copy_bytes(unsigned to, const void* from, unsigned bytes, unsigned barrier);
struct Product {
  void (*compute)(const Product&);
  void* sums;
  u64 a, b;
  int add;
};
void order_product(const Product& product);
void commit_products();
void await_products(unsigned left);
const char* play_blocks(const unsigned* grid, unsigned count, void (*thread)(void*), void* data);
#pragma GCC visibility pop

static unsigned __shfl_xor_sync(unsigned, unsigned x, int step) {
  exchanged[me][0] = x;
  meet_warp();
  const unsigned other = exchanged[me ^ step][0];
  meet_warp();
  return other;
}
static float __shfl_xor_sync(unsigned all, float x, int step) {
  return __uint_as_float(__shfl_xor_sync(all, __float_as_uint(x), step));
}
static unsigned __byte_perm(unsigned a, unsigned b, unsigned places) {
  const u64 both = (u64)b << 32 | a;
  unsigned word = 0;
  for (int i = 0; i < 4; ++i) word |= (unsigned)(both >> 8 * (places >> 4 * i & 7) & 0xff) << 8 * i;
  return word;
}

// The preludes' types and memory.
template <class T, typename Bits, int size> struct Stored {
  static const int bytes = size, per_word = 4 / size;
  static float get(unsigned word, int i) { return T::number((Bits)(word >> 8 * size * i)); }
  template <int N> static void put(unsigned* words, const float (&v)[N]) {
    for (int i = 0; i < N; ++i) {
      if (i % per_word == 0) words[i / per_word] = 0;
      words[i / per_word] |= (unsigned)T::bits(v[i]) << 8 * size * (i % per_word);
    }
  }
};
template <class T> struct Pairs : Stored<T, unsigned short, 2> {
  static unsigned pair(float low, float high) { return T::bits(low) | (unsigned)T::bits(high) << 16; }
  static unsigned clamped(unsigned word, unsigned low, unsigned high) {
    float v[2];
    for (int i = 0; i < 2; ++i) v[i] = fminf(fmaxf(T::get(word, i), T::get(low, i)), T::get(high, i));
    return pair(v[0], v[1]);
  }
};
struct F32 : Stored<F32, unsigned, 4> {
  static float number(unsigned x) { return __uint_as_float(x); }
  static unsigned bits(float x) { return __float_as_uint(x); }
};
struct F16 : Pairs<F16> {
  static float number(unsigned short x) { return from_f16(x); }
  static unsigned short bits(float x) { return to_f16(x); }
};
struct BF16 : Pairs<BF16> {
  static float number(unsigned short x) { return from_bf16(x); }
  static unsigned short bits(float x) { return to_bf16(x); }
};
struct E4M3 : Stored<E4M3, unsigned char, 1> {
  static float number(unsigned char x) { return from_e4m3(x); }
  static unsigned char bits(float x) { return to_e4m3(x); }
};
struct I8 : Stored<I8, unsigned char, 1> {
  static const int low = -128, high = 127;
  static float number(unsigned char x) { return (signed char)x; }
  static unsigned char bits(float x) { return (unsigned char)(int)x; }
};
struct U8 : Stored<U8, unsigned char, 1> {
  static const int low = 0, high = 255;
  static float number(unsigned char x) { return x; }
  static unsigned char bits(float x) { return (unsigned char)(int)x; }
};
template <class T, int N> static void put_quantised(unsigned* words, const float (&v)[N], float inverse, int zero) {
  float whole[N];
  for (int i = 0; i < N; ++i) whole[i] = fminf(fmaxf(rintf(v[i] * inverse) + zero, T::low), T::high);
  T::put(words, whole);
}
template <int N> static void load_words(const void* from, unsigned* words) {
  if ((u64)from % (N % 4 == 0 ? 16 : N % 2 == 0 ? 8 : 4) != 0) broken = "words are loaded from an address that is not aligned";
  memcpy(words, from, 4 * N);
}
template <int N> static void load_floats(const float* from, float (&v)[N]) { load_words<N>(from, (unsigned*)v); }
template <int N> static void store_words(void* to, const unsigned* words) {
  if ((u64)to % (N % 4 == 0 ? 16 : N % 2 == 0 ? 8 : 4) != 0) broken = "words are stored to an address that is not aligned";
  memcpy(to, words, 4 * N);
}
static float unit_of(float a, float b, float c) { return fminf(fmaxf(fmaf(a, b, c), 0.0f), 1.0f); }
static float power_of_two(float x) { return exp2f(x); }
static void let_next_begin() {}
static void wait_for_previous() {}
static void keep(float&) {}
static void keep(int&) {}
static void barriers_made() {}
static void begin_products() {}
static void load_copied(unsigned address, unsigned (&words)[4]) { load_words<4>(shared_memory + address, words); }
static void load_copied(unsigned address, unsigned (&words)[2]) { load_words<2>(shared_memory + address, words); }
static unsigned load_copied(unsigned address) {
  unsigned word;
  load_words<1>(shared_memory + address, &word);
  return word;
}
template <int N> static void copy_piece(unsigned to, const void* from) {
  if (to % N != 0 || (u64)from % N != 0) broken = "a piece is copied that is not aligned";
  memcpy(shared_memory + to, from, N);
}
// Copies of whole chunks come when their thread has waited for all of them; until then their place holds something else.
struct Chunk {
  unsigned to;
  const void* from;
  bool valid;
};
static const unsigned most_chunks = 1024;
static Chunk ordered_chunks[most_threads][most_chunks];
static unsigned chunks_ordered[most_threads];
static void cp_async16(unsigned to, const void* from, bool valid) {
  if (to % 16 != 0 || (u64)from % 16 != 0) broken = "16 bytes are copied that are not aligned";
  if (chunks_ordered[me] == most_chunks) {
    broken = "more copies are under way than the host keeps";
    return;
  }
  if (valid) memcpy(shared_memory + to, from, 16);  // dies here where it may not be read
  memset(shared_memory + to, 0xEE, 16);
  ordered_chunks[me][chunks_ordered[me]++] = {to, from, valid};
}
static void cp_async16(unsigned to, const void* from) { cp_async16(to, from, true); }
static void commit_copies() {}
template <int N> static void wait_for_copies() {
  for (unsigned i = 0; N == 0 && i < chunks_ordered[me]; ++i) {
    const Chunk& chunk = ordered_chunks[me][i];
    memset(shared_memory + chunk.to, 0, 16);
    if (chunk.valid) memcpy(shared_memory + chunk.to, chunk.from, 16);
  }
  if (N == 0) chunks_ordered[me] = 0;
}
// Four matrices of 8 rows of 16 bytes; lane i gives the address of row i % 8 of matrix i / 8.
static void load_matrices(unsigned (&words)[4], unsigned address) {
  exchanged[me][0] = address;
  meet_warp();
  for (int i = 0; i < 4; ++i) memcpy(words + i, shared_memory + exchanged[me / 32 * 32 + i * 8 + me % 32 / 4][0] + me % 4 * 4, 4);
  meet_warp();
}
// As mma.sync shares out 16 rows and 8 columns over 32 bytes of k.
template <class T> static void multiply_warp(float& c0, float& c1, float& c2, float& c3, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  memcpy(exchanged[me], a, 16);
  exchanged[me][4] = b0;
  exchanged[me][5] = b1;
  meet_warp();
  const unsigned warp = me / 32 * 32, row = me % 32 / 4, column = me % 4 * 2;
  float* const sums[4] = {&c0, &c1, &c2, &c3};
  for (unsigned i = 0; i < 4; ++i)
    for (unsigned k = 0; k < 16; ++k) {
      const unsigned first = exchanged[warp + row * 4 + k % 8 / 2][i / 2 + k / 8 * 2];
      const unsigned second = exchanged[warp + (column + i % 2) * 4 + k % 8 / 2][4 + k / 8];
      *sums[i] += T::get(first, k % 2) * T::get(second, k % 2);
    }
  meet_warp();
}
static void mma_f16(float& c0, float& c1, float& c2, float& c3, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  multiply_warp<F16>(c0, c1, c2, c3, a, b0, b1);
}
template <class T> static void multiply_warp_first(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, float even, float odd) {
  c[0] = c[2] = even;
  c[1] = c[3] = odd;
  multiply_warp<T>(c[0], c[1], c[2], c[3], a, b0, b1);
}
static void mma_f16_first(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, float even, float odd) {
  multiply_warp_first<F16>(c, a, b0, b1, even, odd);
}
static void mma_bf16_first(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, float even, float odd) {
  multiply_warp_first<BF16>(c, a, b0, b1, even, odd);
}
static void mma_bf16(float& c0, float& c1, float& c2, float& c3, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  multiply_warp<BF16>(c0, c1, c2, c3, a, b0, b1);
}
static void store_word(unsigned address, unsigned word) { memcpy(shared_memory + address, &word, 4); }
static int min(int a, int b) { return a < b ? a : b; }
static int max(int a, int b) { return a > b ? a : b; }
static int larger(int a, int b) { return a > b ? a : b; }
static float larger(float a, float b) { return a != a || a > b ? a : b; }
template <typename T> static T __shfl_sync(unsigned, T x, int lane) {
  memcpy(exchanged[me], &x, 4);
  meet_warp();
  T other;
  memcpy(&other, exchanged[me / 32 * 32 + lane], 4);
  meet_warp();
  return other;
}
static unsigned __any_sync(unsigned, bool x) {
  exchanged[me][0] = x;
  meet_warp();
  unsigned any = 0;
  for (unsigned lane = me / 32 * 32; lane < me / 32 * 32 + 32; ++lane) any |= exchanged[lane][0];
  meet_warp();
  return any;
}
static void __syncwarp() { meet_warp(); }
static unsigned shared_address(const void* p) { return (unsigned)((const unsigned char*)p - shared_memory); }

static unsigned permuted(unsigned address, int row_bytes) {
  return address ^ ((address >> 7 & (row_bytes == 128 ? 7 : row_bytes == 64 ? 3 : row_bytes == 32 ? 1 : 0)) << 4);
}
template <int row_bytes> static u64 rows_at(unsigned address) {
  return (u64)((address & 0x3ffff) >> 4) | (u64)(row_bytes * 8 / 16) << 32 | (u64)(row_bytes == 128 ? 1 : row_bytes == 64 ? 2 : 3) << 62;
}
static const unsigned char* at_row(u64 rows, int row, int byte) {
  const unsigned start = (unsigned)(rows & 0x3fff) << 4, groups = (unsigned)(rows >> 32 & 0x3fff) << 4;
  const int row_bytes = rows >> 62 == 1 ? 128 : rows >> 62 == 2 ? 64 : 32;
  return shared_memory + permuted(start + row / 8 * groups + row % 8 * row_bytes + byte, row_bytes);
}
template <class T> static float number_at(const unsigned char* p) {
  unsigned word = 0;
  memcpy(&word, p, T::bytes);
  return T::get(word, 0);
}
static int own_row(int half) { return threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4 + 8 * half; }
// 32 bytes of k of an A and of a B.
template <class A, class B, typename Sum, int N> static void compute_product(const Product& ordered) {
  Sum* const sums = (Sum*)ordered.sums;
  for (int i = 0; i < N; ++i) {
    const int row = own_row(i / 2 % 2), column = i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
    Sum sum = ordered.add ? sums[i] : (Sum)0;
    for (int byte = 0; byte < 32; byte += A::bytes)
      sum += (Sum)(number_at<A>(at_row(ordered.a, row, byte)) * number_at<B>(at_row(ordered.b, column, byte)));
    sums[i] = sum;
  }
}
template <class A, class B, typename Sum, int N> static void play_product(Sum (&d)[N], u64 a, u64 b, int add) {
  order_product({compute_product<A, B, Sum, N>, d, a, b, add});
}
// The first factor lies in registers of the row's four threads.
template <class A, class B, typename Sum, int N> static void play_product_of_registers(Sum (&d)[N], const unsigned (&a)[4], u64 b, int add) {
  memcpy(exchanged[me], a, 16);
  meet_warp();
  for (int i = 0; i < N; ++i) {
    const int half = i / 2 % 2, column = i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
    Sum sum = add ? d[i] : (Sum)0;
    for (int byte = 0; byte < 32; byte += A::bytes) {
      const unsigned word = exchanged[me / 4 * 4 + byte % 16 / 4][byte / 16 * 2 + half];
      sum += (Sum)(A::get(word, byte % 4 / A::bytes) * number_at<B>(at_row(b, column, byte)));
    }
    d[i] = sum;
  }
  meet_warp();
}
template <int N> static void wait_for_products() { await_products(N); }
template <int N> static void product(float (&d)[N], u64 a, u64 b, int add) { play_product<F16, F16>(d, a, b, add); }
template <int N> static void product_with_turned(float (&d)[N], const unsigned (&a)[4], u64 b, int add) {
  memcpy(exchanged[me], a, 16);
  meet_warp();
  for (int i = 0; i < N; ++i) {
    const int half = i / 2 % 2, column = i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
    float sum = add ? d[i] : 0.0f;
    for (int k = 0; k < 16; ++k)
      sum += F16::get(exchanged[me / 4 * 4 + k % 8 / 2][k / 8 * 2 + half], k % 2) * number_at<F16>(at_row(b, k, 2 * column));
    d[i] = sum;
  }
  meet_warp();
}
// Returns what went wrong, or nothing.
template <typename F> static const char* run_blocks(const unsigned* grid, unsigned count, F thread) {
  return play_blocks(grid, count, [](void* data) { (*(F*)data)(); }, &thread);
}
)";

// What is behind the words, compiled once.
constexpr const char* hopper_player = R"(
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <ucontext.h>
#include <utility>
#include <vector>
Place blockIdx, threadIdx, gridDim;
alignas(1024) unsigned char shared_of_block[1 << 18];
unsigned me = 0;
const char* broken = nullptr;
unsigned exchanged[most_threads][8];
static unsigned threads = 0;

// A thread of the block.
struct Fiber { ucontext_t context; std::unique_ptr<char[]> stack; bool ended = false; };
static std::vector<Fiber> fibers;
static ucontext_t scheduler;
static void (*body)(void*) = nullptr;
static void* body_data = nullptr;
static u64 events = 0;  // whatever someone may wait for
static void give_turn() { swapcontext(&fibers[me].context, &scheduler); }
static void run_fiber() { body(body_data); fibers[me].ended = true; give_turn(); }
template <typename Done> static void wait_until(const Done& done) {
  if (done()) return;
  do give_turn(); while (!done());
  ++events;
}
struct Meeting {
  unsigned came = 0, round = 0;
  void meet(unsigned all) {
    const unsigned mine = round;
    if (++came == all) { came = 0; ++round; ++events; return; }
    wait_until([&] { return round != mine; });
  }
};
static Meeting of_block, of_warp[most_threads / 32], of_number[16];
void __syncthreads() { of_block.meet(threads); }
void meet(int number, int all) { of_number[number].meet(all); }
void meet_warp() { of_warp[me / 32].meet(32); }
// Barriers of a block by their address: arrivals and bytes that are still to come, phases that have ended.
struct Barrier {
  unsigned count = 0, missing = 0, ended = 0;
  long long bytes = 0;
  void look() {
    if (missing > 0 || bytes != 0) return;
    missing = count;
    ++ended;
    ++events;
  }
  void arrive() {
    if (missing == 0) broken = "a barrier has more arrivals than a phase of it";
    --missing;
    look();
  }
};
static std::map<unsigned, Barrier> barriers;
void make_barrier(unsigned at, unsigned count) { barriers[at] = {count, count}; }
void arrive(unsigned at) { barriers.at(at).arrive(); }
void expect_bytes(unsigned at, unsigned bytes) {
  Barrier& barrier = barriers.at(at);
  barrier.bytes += bytes;
  barrier.arrive();
}
void wait_for(unsigned at, unsigned parity) {
  const Barrier& barrier = barriers.at(at);
  wait_until([&] { return (barrier.ended & 1) != parity; });
}

static unsigned state = 1;
static unsigned some_number(unsigned below) { state = state * 1664525u + 1013904223u; return (state >> 8) % below; }
static std::vector<std::function<void()>> under_way;
static void bring_some() {
  for (size_t i = 0; i < under_way.size();) {
    if (some_number(3) == 0) { ++i; continue; }
    under_way[i]();
    ++events;
    under_way[i] = std::move(under_way.back());
    under_way.pop_back();
  }
}
static void bring(unsigned barrier, long long bytes) {
  Barrier& of = barriers.at(barrier);
  of.bytes -= bytes;
  of.look();
}
static void put_element(unsigned to, const Map& map, const long long (&place)[4]) {
  long long at = 0;
  bool inside = true;
  for (int axis = 0; axis < 4; ++axis) {
    inside = inside && place[axis] >= 0 && place[axis] < map.sizes[axis];
    at += place[axis] * (axis == 0 ? map.element_bytes : map.steps[axis]);
  }
  unsigned char* const there = shared_memory + permuted(to, map.row_bytes);
  if (inside) memcpy(there, map.from + at, map.element_bytes);
  else memset(there, 0, map.element_bytes);
}
void copy_box(unsigned to, const Map& map, unsigned barrier, int column, int second, int third, int fourth) {
  under_way.push_back([=] {
    const int first[4] = {column, second, third, fourth};
    const int count = map.box[0] * map.box[1] * map.box[2] * map.box[3];
    for (int i = 0; i < count; ++i) {
      long long place[4];
      for (int axis = 0, rest = i; axis < 4; rest /= map.box[axis++]) place[axis] = first[axis] + rest % map.box[axis];
      put_element(to + map.element_bytes * i, map, place);
    }
    bring(barrier, (long long)map.element_bytes * count);
  });
}
void copy_rows(unsigned to, const Map& map, unsigned barrier, int column, int row) { copy_box(to, map, barrier, column, row, 0, 0); }
void copy_pixels(unsigned to, const Map& map, unsigned barrier, int channel, int x, int y, int image, int right, int down) {
  under_way.push_back([=]() mutable {
    for (int pixel = 0; pixel < map.box[1]; ++pixel) {
      for (int c = 0; c < map.box[0]; ++c)
        put_element(to + map.element_bytes * (pixel * map.box[0] + c), map, {channel + c, x + right, y + down, image});
      if ((x += map.strides[0]) < map.sizes[1] + map.upper[0]) continue;
      x = map.lower[0];
      if ((y += map.strides[1]) < map.sizes[2] + map.upper[1]) continue;
      y = map.lower[1];
      ++image;
    }
    bring(barrier, (long long)map.element_bytes * map.box[0] * map.box[1]);
  });
}
void copy_bytes(unsigned to, const void* from, unsigned bytes, unsigned barrier) {
  if (to % 16 != 0 || (u64)from % 16 != 0 || bytes % 16 != 0) broken = "bytes are copied that are not aligned";
  under_way.push_back([=] {
    memcpy(shared_memory + to, from, bytes);
    bring(barrier, bytes);
  });
}

// Products of a thread that are not waited for yet.
struct Ordered { std::vector<Product> open; std::deque<std::vector<Product>> groups; };
static Ordered ordered[most_threads];
void order_product(const Product& product) { ordered[me].open.push_back(product); }
void commit_products() { ordered[me].groups.push_back(std::move(ordered[me].open)); ordered[me].open.clear(); }
void await_products(unsigned left) {
  for (auto& groups = ordered[me].groups; groups.size() > left; groups.pop_front())
    for (const Product& product : groups.front()) product.compute(product);
  meet_warp();  // a warp waits as one
}

static void begin_fiber(Fiber& fiber) {
  if (!fiber.stack) fiber.stack.reset(new char[128 << 10]);
  getcontext(&fiber.context);
  fiber.context.uc_stack = {fiber.stack.get(), 0, 128 << 10};
  fiber.context.uc_link = nullptr;
  fiber.ended = false;
  makecontext(&fiber.context, run_fiber, 0);
}
// A warp may be left out of a round. False: they wait for ever.
static bool run_block() {
  const unsigned patience = 100;  // rounds
  for (Fiber& fiber : fibers) begin_fiber(fiber);
  u64 before = events;
  unsigned idle = 0;
  for (unsigned left = threads; left > 0 && broken == nullptr;) {
    for (unsigned warp = 0; warp < threads; warp += 32) {
      if (some_number(4) == 0) continue;
      for (me = warp; me < warp + 32; ++me) {
        if (fibers[me].ended) continue;
        threadIdx = {me, 0, 0};
        swapcontext(&scheduler, &fibers[me].context);
        if (fibers[me].ended) { --left; ++events; }
      }
    }
    bring_some();
    idle = events == before ? idle + 1 : 0;
    before = events;
    if (idle > patience) return false;
  }
  return true;
}
const char* play_blocks(const unsigned* grid, unsigned count, void (*thread)(void*), void* data) {
  body = thread;
  body_data = data;
  threads = count;
  fibers.resize(count);
  gridDim = {grid[0], grid[1], grid[2]};
  broken = nullptr;
  for (unsigned z = 0; z < grid[2]; ++z)
    for (unsigned y = 0; y < grid[1]; ++y)
      for (unsigned x = 0; x < grid[0]; ++x) {
        blockIdx = {x, y, z};
        if (!run_block()) broken = "every thread waits for what will not come";
        if (broken != nullptr) return broken;
        for (const Ordered& of : ordered)
          if (!of.open.empty() || !of.groups.empty()) return "products are not waited for";
        if (!under_way.empty()) return "copies come after the end";
      }
  return nullptr;
}
)";

HostWords hopper_host();

// What of a kernel's text for Hopper stands for these words goes: both preludes, products, the declaration of shared memory.
std::string without_device_words(std::string text);
// All functions of that name, of which there may be none.
void cut_all_functions(std::string& text, const std::string& name);
// The functions NAME, from "__device__" to the brace that ends them at the beginning of a line.
void cut_function(std::string& text, const std::string& name);

}  // namespace deepgap::gpu
