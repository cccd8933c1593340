#include "measure.h"

#include "cuda/compiler.h"
#include "engine/gpu/kernel_text.h"

#include <array>
#include <cmath>

namespace deepgap::bench {
namespace {

constexpr unsigned threads = 256, blocks = 1056;

constexpr std::string_view text = R"(
__device__ unsigned mixed(unsigned long long i, unsigned seed) {
  unsigned long long x = i * 0x9E3779B97F4A7C15ull + seed * 0xD1B54A32D192ED03ull;
  x ^= x >> 32; x *= 0xD6E8FEB86659FD93ull; x ^= x >> 32; x *= 0xD6E8FEB86659FD93ull; x ^= x >> 32;
  return (unsigned)x;
}
__device__ float between_minus_one_and_one(unsigned bits) { return (int)bits * 4.656612873e-10f; }
extern "C" __global__ void fill1(unsigned char* to, long long count, int seed) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < count; i += gridDim.x * 256ll) to[i] = mixed(i, seed) >> 9;
}
template <class T> __device__ void fill_floats(unsigned char* to, long long count, int seed) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < count; i += gridDim.x * 256ll) {
    const float v[1] = {between_minus_one_and_one(mixed(i, seed))};
    unsigned word[1];
    T::put(word, v);
    if (T::bytes == 4) ((unsigned*)to)[i] = word[0];
    else if (T::bytes == 2) ((unsigned short*)to)[i] = word[0];
    else to[i] = word[0];
  }
}
extern "C" __global__ void fillF16(unsigned char* to, long long count, int seed) { fill_floats<F16>(to, count, seed); }
extern "C" __global__ void fillBF16(unsigned char* to, long long count, int seed) { fill_floats<BF16>(to, count, seed); }
extern "C" __global__ void fillF32(unsigned char* to, long long count, int seed) { fill_floats<F32>(to, count, seed); }
#if __CUDA_ARCH__ >= 890
extern "C" __global__ void fillE4M3(unsigned char* to, long long count, int seed) { fill_floats<E4M3>(to, count, seed); }
#endif

__device__ void add_up(double* sums, double square, double reference_square, double largest, double wrong) {
  for (int step = 16; step > 0; step /= 2) {
    square += __shfl_xor_sync(0xffffffffu, square, step);
    reference_square += __shfl_xor_sync(0xffffffffu, reference_square, step);
    largest = fmax(largest, __shfl_xor_sync(0xffffffffu, largest, step));
    wrong += __shfl_xor_sync(0xffffffffu, wrong, step);
  }
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(&sums[0], square);
  atomicAdd(&sums[1], reference_square);
  atomicMax((unsigned long long*)&sums[2], (unsigned long long)__double_as_longlong(largest));
  atomicAdd(&sums[3], wrong);
}
template <class T> __device__ void compare_as(const unsigned char* a, const unsigned char* b, long long pixels, int channels, int pitch, double* sums) {
  double square = 0, reference_square = 0, largest = 0, wrong = 0;
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < pixels * pitch; i += gridDim.x * 256ll) {
    const double x = load_one<T>(a + i * T::bytes);
    if (x - x != 0) { wrong += 1; continue; }
    if (i % pitch >= channels) continue;
    const double y = load_one<T>(b + i * T::bytes);
    square += (x - y) * (x - y);
    reference_square += y * y;
    largest = fmax(largest, fabs(x - y));
  }
  add_up(sums, square, reference_square, largest, wrong);
}
#define COMPARE(T) extern "C" __global__ void compare##T(const unsigned char* a, const unsigned char* b, long long pixels, int channels, \
  int pitch, double* sums) { compare_as<T>(a, b, pixels, channels, pitch, sums); }
COMPARE(F32) COMPARE(F16) COMPARE(BF16) COMPARE(I8) COMPARE(U8)
#if __CUDA_ARCH__ >= 890
COMPARE(E4M3)
#endif
extern "C" __global__ void count_different(const unsigned char* a, const unsigned char* b, long long bytes, double* sums) {
  double count = 0;
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < bytes; i += gridDim.x * 256ll) count += a[i] != b[i];
  add_up(sums, count, 0, 0, 0);
}
)";

bool is_integer(gpu::Element element) { return element == gpu::Element::i8 || element == gpu::Element::u8; }

std::string source() { return std::string(gpu::kernel_prelude()) + std::string(text); }

using gpu::BufferArgument;
using gpu::NumberArgument;

}  // namespace

Workshop::Workshop(const gpu::Chip& chip) : module_(cuda::compile(source(), chip.target()).cubin), sums_(4 * sizeof(double)) {}

void Workshop::launch(const char* entry, std::vector<gpu::Argument> arguments, const std::vector<cuda::Address>& addresses) {
  gpu::Launch made;
  made.entry = entry;
  made.grid = {blocks, 1, 1};
  made.block = {threads, 1, 1};
  made.arguments = std::move(arguments);
  gpu::BoundLaunch(made, module_.function(entry, 0), [&](int role) { return addresses[static_cast<size_t>(role)]; }).run(stream_.get());
}

void Workshop::fill(cuda::Address to, int64_t elements, gpu::Element element, unsigned seed) {
  const bool bytes = is_integer(element);
  const std::string entry = bytes ? "fill1" : "fill" + std::string(gpu::type_text(element));
  launch(entry.c_str(), {BufferArgument{0}, NumberArgument{elements}, NumberArgument{static_cast<int32_t>(seed)}}, {to});
  stream_.synchronize();
}

Difference Workshop::compare(cuda::Address value, cuda::Address reference, int64_t pixels, int64_t channels, int64_t pitch,
                             gpu::Element element) {
  cuda::check(cuda::driver().cuMemsetD8Async(sums_.address(), 0, sums_.bytes(), stream_.get()), "clearing sums");
  const std::string entry = "compare" + std::string(gpu::type_text(element));
  launch(entry.c_str(),
         {BufferArgument{0}, BufferArgument{1}, NumberArgument{pixels}, NumberArgument{static_cast<int32_t>(channels)},
          NumberArgument{static_cast<int32_t>(pitch)}, BufferArgument{2}},
         {value, reference, sums_.address()});
  stream_.synchronize();
  std::array<double, 4> sums{};
  cuda::check(cuda::driver().cuMemcpyDtoH_v2(sums.data(), sums_.address(), sizeof(sums)), "reading sums");
  const double count = static_cast<double>(pixels * channels);
  const bool quantised = is_integer(element);
  const double mean_square = sums[1] / count;
  return {.relative = sums[1] > 0   ? std::sqrt(sums[0] / sums[1])
                      : sums[0] > 0 ? 1
                                    : 0.0,
          .largest = quantised || mean_square == 0 ? sums[2] : sums[2] / std::sqrt(mean_square),
          .wrong = sums[3]};
}

int64_t Workshop::different_bytes(cuda::Address a, cuda::Address b, int64_t bytes) {
  cuda::check(cuda::driver().cuMemsetD8Async(sums_.address(), 0, sums_.bytes(), stream_.get()), "clearing sums");
  launch("count_different", {BufferArgument{0}, BufferArgument{1}, NumberArgument{bytes}, BufferArgument{2}}, {a, b, sums_.address()});
  stream_.synchronize();
  double count = 0;
  cuda::check(cuda::driver().cuMemcpyDtoH_v2(&count, sums_.address(), sizeof(count)), "reading sums");
  return static_cast<int64_t>(count);
}

}  // namespace deepgap::bench
