#include "kernels/known_work.h"

#include "cuda/compiler.h"
#include "cuda/objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace deepgap {
namespace {

constexpr unsigned threads = 256;
constexpr int sums = 8, fma_rounds = 1000, product_rounds = 500, near_rounds = 64, near_words = 4, near_step = 0;
constexpr size_t least_copy_bytes = size_t{256} << 20;

// Copies go through the caches in blocks of 16 bytes; multiply-adds are `sums` independent ones a round; each block reads its own 16 KiB
// (`near_words` blocks of 16 bytes a thread) again and again, mostly out of the first-level cache. The step between rounds is none, which
// the assembler must not know: it reads once what no round changes.
constexpr const char* plain_text = R"(
extern "C" __global__ void __launch_bounds__(256) known_copy(const uint4* from, uint4* to, long long count) {
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) to[i] = from[i];
}
extern "C" __global__ void __launch_bounds__(256) known_fma(float* out, int rounds, float one) {
  float x[8];
#pragma unroll
  for (int i = 0; i < 8; i++) x[i] = threadIdx.x + i;
#pragma unroll 1
  for (int round = 0; round < rounds; round++) {
#pragma unroll
    for (int i = 0; i < 8; i++) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x[i]) : "f"(one));
  }
  int bits = 0;
#pragma unroll
  for (int i = 0; i < 8; i++) bits ^= __float_as_int(x[i]);
  if (bits == 0x12345678) *out = x[0];
}
extern "C" __global__ void __launch_bounds__(256) known_near(const uint4* from, int rounds, int step, float* out) {
  const uint4* own = from + (long long)blockIdx.x * 1024 + threadIdx.x;
  unsigned bits = 0;
#pragma unroll 1
  for (int round = 0; round < rounds; round++) {
#pragma unroll
    for (int k = 0; k < 4; k++) {
      uint4 w;
      asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w) : "l"(own + round * step + k * 256));
      bits ^= w.x ^ w.y ^ w.z ^ w.w;
    }
  }
  if (bits == 0x12345678) *out = 1;
}
)";

// A product of a warp on registers as tensor cores of this generation take it.
struct Product {
  const char* shape;
  int a, b, c;        // registers of each
  double operations;  // multiply and add are two
};
Product product_of(int architecture) {
  if (architecture >= 80) return {"m16n8k16", 4, 2, 4, 2.0 * 16 * 8 * 16};
  if (architecture >= 75) return {"m16n8k8", 2, 1, 4, 2.0 * 16 * 8 * 8};
  return {"m8n8k4", 2, 2, 8, 4 * 2.0 * 8 * 8 * 4};  // four quarters of a warp each their own
}

std::string listed(const char* format, int first, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", fmt::format(fmt::runtime(format), first + i));
  return text;
}

std::string product_text(const Product& p) {
  const std::string outputs = listed("\"+f\"(c[s][{}])", 0, p.c);
  const std::string inputs = listed("\"r\"(a[{}])", 0, p.a) + ", " + listed("\"r\"(b[{}])", 0, p.b);
  return fmt::format(R"(
extern "C" __global__ void __launch_bounds__(256) known_product(float* out, int rounds) {{
  unsigned a[{0}], b[{1}];
  float c[8][{2}];
#pragma unroll
  for (int i = 0; i < {0}; i++) a[i] = 0x38003800u + threadIdx.x;
#pragma unroll
  for (int i = 0; i < {1}; i++) b[i] = 0x38003800u + threadIdx.x;
#pragma unroll
  for (int s = 0; s < 8; s++)
#pragma unroll
    for (int i = 0; i < {2}; i++) c[s][i] = 0;
#pragma unroll 1
  for (int round = 0; round < rounds; round++) {{
#pragma unroll
    for (int s = 0; s < 8; s++)
      asm volatile("mma.sync.aligned.{3}.row.col.f32.f16.f16.f32 {{{4}}}, {{{5}}}, {{{6}}}, {{{4}}};" : {7} : {8});
  }}
  int bits = 0;
#pragma unroll
  for (int s = 0; s < 8; s++)
#pragma unroll
    for (int i = 0; i < {2}; i++) bits ^= __float_as_int(c[s][i]);
  if (bits == 0x12345678) *out = c[0][0];
}}
)",
                     p.a, p.b, p.c, p.shape, listed("%{}", 0, p.c), listed("%{}", p.c, p.a), listed("%{}", p.c + p.a, p.b), outputs,
                     inputs);
}

class KernelsOfOurs : public KnownWork {
 public:
  explicit KernelsOfOurs(int device)
      : context_(device),
        facts_(cuda::device_facts(device)),
        product_(product_of(facts_.architecture())),
        copy_bytes_(std::max(least_copy_bytes, 4 * facts_.l2_bytes) / 16 * 16),
        module_(cuda::compile(known_work_text(facts_.architecture()), fmt::format("sm_{}", facts_.architecture())).cubin),
        memory_(2 * copy_bytes_),
        out_(sizeof(float)) {
    cuda::check(cuda::driver().cuMemsetD8Async(memory_.address(), 1, memory_.bytes(), stream_.get()), "filling memory");
    stream_.synchronize();
  }

  // There and back: the first copy leaves in the cache the ends of both, and the second begins with their beginnings.
  void run(const RangeProfiler::Mark& mark) override {
    context_.use();
    const cuda::Function copy = module_.function("known_copy", 0);
    const cuda::Address here = memory_.address(), there = here + copy_bytes_;
    for (const bool back : {false, true}) {
      mark(back ? "the known copy" : "a copy");
      launch(copy, back ? there : here, back ? here : there, static_cast<long long>(copy_bytes_ / 16));
      stream_.synchronize();
    }
    mark("known multiply-adds");
    launch(module_.function("known_fma", 0), out_.address(), fma_rounds, 1.0F);
    stream_.synchronize();
    mark("known products");
    launch(module_.function("known_product", 0), out_.address(), product_rounds);
    stream_.synchronize();
    mark("known reads of first-level caches");
    launch(module_.function("known_near", 0), here, near_rounds, near_step, out_.address());
    stream_.synchronize();
  }
  size_t ranges() const override { return 5; }

  std::vector<KnownCount> counts() const override {
    const auto bytes = static_cast<double>(copy_bytes_);
    const double kept = static_cast<double>(facts_.l2_bytes) / bytes;  // written, and not yet gone from the cache
    const double all_threads = static_cast<double>(blocks()) * threads;
    return {
        {"DRAM bytes that a copy reads", "bytes", 1, {"dram__bytes_read.sum", "dram__bytes_op_read.sum"}, bytes, 0.03},
        {"DRAM bytes that a copy writes", "bytes", 1, {"dram__bytes_write.sum", "dram__bytes_op_write.sum"}, bytes, 0.05 + kept},
        {"bytes that a copy asks first-level caches for", "l1", 1, {"l1tex__t_bytes.sum"}, 2 * bytes, 0.01},
        {"bytes that reads ask first-level caches for", "l1", 4, {"l1tex__t_bytes.sum"}, all_threads * near_rounds * near_words * 16, 0.01},
        {"FP32 multiply-adds", "lanes", 2, {"sm__sass_thread_inst_executed_op_ffma_pred_on.sum"}, all_threads * fma_rounds * sums, 0.01},
        {"operations of tensor cores",
         "tensor",
         3,
         {"sm__ops_path_tensor_src_fp16.sum", "sm__ops_path_tensor_src_fp16_dst_fp32.sum",
          "sm__ops_path_tensor_src_fp16_bf16_tf32_dst_fp32.sum"},
         all_threads / 32 * product_rounds * sums * product_.operations,
         0.01}};
  }

 private:
  unsigned blocks() const { return static_cast<unsigned>(facts_.multiprocessors) * 4; }

  template <typename... Arguments>
  void launch(cuda::Function function, Arguments... arguments) const {
    cuda::LaunchConfig config{};
    config.grid_x = blocks();
    config.block_x = threads;
    config.grid_y = config.grid_z = config.block_y = config.block_z = 1;
    config.stream = stream_.get();
    std::array<void*, sizeof...(arguments) + 1> pointers{&arguments..., nullptr};
    cuda::check(cuda::driver().cuLaunchKernelEx(&config, function, pointers.data(), nullptr), "running a kernel whose counts are known");
  }

  cuda::DeviceContext context_;
  cuda::DeviceFacts facts_;
  Product product_;
  size_t copy_bytes_;
  cuda::Module module_;
  cuda::DeviceMemory memory_, out_;
  cuda::Stream stream_;
};

}  // namespace

std::string known_work_text(int architecture) { return plain_text + product_text(product_of(architecture)); }

std::unique_ptr<KnownWork> known_work(int device) { return std::make_unique<KernelsOfOurs>(device); }

}  // namespace deepgap
