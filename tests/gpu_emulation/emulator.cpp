#include "emulator.h"

#include "base/file.h"
#include "engine/gpu/float8.h"
#include "engine/gpu/generated.h"
#include "model/eval/half.h"

#include <deepgap/error.h>

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>

namespace deepgap::gpu {
namespace {

constexpr size_t kernels_a_unit = 40;

// What a kernel's text expects of CUDA. Threads of a block that wait for each other take turns on one thread of the host's, each with a
// stack of its own, and go on when all have come to where they wait.
constexpr const char* host_words = R"(
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <ucontext.h>
#include <vector>
using namespace std;
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static
struct Place { unsigned x, y, z; };
struct uint2 { unsigned x, y; };
struct uint4 { unsigned x, y, z, w; };
static Place blockIdx, gridDim;
static Place threadIdx;
constexpr size_t stack_bytes = 128 << 10;
struct Fiber { ucontext_t context; std::unique_ptr<char[]> stack; bool ended = false; };
static std::vector<Fiber> fibers;
static ucontext_t turns;
static bool waits = false;
static void (*kernel_thread)(void*) = nullptr;
static void* kernel_data = nullptr;
static void run_fiber() {
  kernel_thread(kernel_data);
  fibers[threadIdx.x].ended = true;
  swapcontext(&fibers[threadIdx.x].context, &turns);
}
static void __attribute__((noinline)) __syncthreads() { if (waits) swapcontext(&fibers[threadIdx.x].context, &turns); }
static void run_together(unsigned threads) {
  if (fibers.size() < threads) fibers.resize(threads);
  for (unsigned t = 0; t < threads; ++t) {
    Fiber& fiber = fibers[t];
    if (!fiber.stack) fiber.stack.reset(new char[stack_bytes]);
    getcontext(&fiber.context);
    fiber.context.uc_stack = {fiber.stack.get(), 0, stack_bytes};
    fiber.context.uc_link = nullptr;
    fiber.ended = false;
    makecontext(&fiber.context, run_fiber, 0);
  }
  waits = true;
  for (unsigned left = threads; left > 0;)
    for (unsigned t = 0; t < threads; ++t) {
      if (fibers[t].ended) continue;
      threadIdx = {t, 0, 0};
      swapcontext(&turns, &fibers[t].context);
      if (fibers[t].ended) --left;
    }
  waits = false;
}
static float exchanged[1024];
static inline float __shfl_xor_sync(unsigned, float x, int step) {
  exchanged[threadIdx.x] = x;
  __syncthreads();
  const float other = exchanged[threadIdx.x ^ step];
  __syncthreads();
  return other;
}
static inline float __uint_as_float(unsigned x) { float y; memcpy(&y, &x, 4); return y; }
static inline unsigned __float_as_uint(float x) { unsigned y; memcpy(&y, &x, 4); return y; }
static inline float __int_as_float(int x) { float y; memcpy(&y, &x, 4); return y; }
static inline float from_f16(unsigned short x) { _Float16 y; memcpy(&y, &x, 2); return (float)y; }
static inline unsigned short to_f16(float x) { _Float16 y = (_Float16)x; unsigned short z; memcpy(&z, &y, 2); return z; }
static inline float from_bf16(unsigned short x) { return __uint_as_float((unsigned)x << 16); }
static inline unsigned short to_bf16(float x) {
  unsigned y; memcpy(&y, &x, 4);
  return (unsigned short)((x != x) ? 0x7fc0 : (y + 0x7fff + ((y >> 16) & 1)) >> 16);
}
static inline float from_e4m3(unsigned char x) {
  const int size = x & 0x7f, exponent = size >> 3;
  const float value = size == 0x7f ? NAN : ldexpf((float)(size % 8 + (exponent > 0 ? 8 : 0)), (exponent > 0 ? exponent : 1) - 10);
  return x & 0x80 ? -value : value;
}
static inline unsigned char to_e4m3(float x) {  // the nearest of all, the even one of two
  int best = 0;
  for (int bits = 1; bits < 0x7f; ++bits) {
    const float here = fabsf(fabsf(x) - from_e4m3(bits)), before = fabsf(fabsf(x) - from_e4m3(best));
    if (here < before || (here == before && bits % 2 == 0)) best = bits;
  }
  return x != x ? 0x7f : (unsigned char)(best | (signbit(x) ? 0x80 : 0));
}
static inline float rounded_to_tf32(float v) {
  unsigned y; memcpy(&y, &v, 4);
  if (v == v) y = (y + 0x1000u) & 0xffffe000u;
  memcpy(&v, &y, 4);
  return v;
}
static inline float largest(float a, float b) { return a != a || b != b ? a + b : a < b ? b : a; }
static inline float smallest(float a, float b) { return a != a || b != b ? a + b : a < b ? a : b; }
static inline float near_gelu(float v) { return 0.5f * v * (1.0f + erff(v * 0.70710678f)); }
template <typename Larger> static unsigned of_halves(unsigned a, unsigned b, Larger larger) {
  return (unsigned)larger((unsigned short)a, (unsigned short)b) | (unsigned)larger((unsigned short)(a >> 16), (unsigned short)(b >> 16)) << 16;
}
static inline unsigned larger_s16x2(unsigned a, unsigned b) {
  return of_halves(a, b, [](unsigned short x, unsigned short y) { return (short)x > (short)y ? x : y; });
}
static inline unsigned larger_u16x2(unsigned a, unsigned b) {
  return of_halves(a, b, [](unsigned short x, unsigned short y) { return x > y ? x : y; });
}
static inline unsigned larger_f16x2(unsigned a, unsigned b) {
  return of_halves(a, b, [](unsigned short x, unsigned short y) { return to_f16(largest(from_f16(x), from_f16(y))); });
}
static inline unsigned larger_bf16x2(unsigned a, unsigned b) {
  return of_halves(a, b, [](unsigned short x, unsigned short y) { return to_bf16(largest(from_bf16(x), from_bf16(y))); });
}
static inline void wait_for_previous() {}
static inline void let_next_begin() {}
template <typename F> static void run_blocks(const unsigned* grid, unsigned threads, bool together, F thread) {
  gridDim = {grid[0], grid[1], grid[2]};
  for (blockIdx.z = 0; blockIdx.z < grid[2]; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < grid[1]; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < grid[0]; ++blockIdx.x) {
        if (!together) {
          for (unsigned t = 0; t < threads; ++t) { threadIdx = {t, 0, 0}; thread(); }
          continue;
        }
        kernel_data = &thread;
        kernel_thread = [](void* data) { (*(F*)data)(); };
        run_together(threads);
      }
}
)";

// Words that texts define for themselves.
constexpr const char* forget =
    "#undef T\n#undef E\n#undef V\n#undef COUNT\n#undef ROWS\n#undef EPSILON\n#undef GET\n#undef PUT\n#undef ENTRY\n#undef A\n#undef "
    "B\n#undef C\n#undef FACTOR\n#undef STORE\n#undef ROW_PLACE\n#undef valid\n"
    "#undef RESULT\n#undef INVERSE\n#undef SCALED\n#undef TERM\n#undef ENDED\n";

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) text.replace(at, what.size(), with);
}

using HostKernel = void (*)(const unsigned* grid, void** arguments);
using HostEpilogue = float (*)(float v, float residual);

uint16_t read_bits(const std::byte* at, int64_t index) {
  uint16_t bits = 0;
  std::memcpy(&bits, at + index * 2, sizeof bits);
  return bits;
}

// Numbers in memory, whatever their type.
double number_at(const std::byte* at, Element element, int64_t index) {
  const auto read = [&](auto zero) {
    std::memcpy(&zero, at + static_cast<size_t>(index) * sizeof zero, sizeof zero);
    return static_cast<double>(zero);
  };
  switch (element) {
    case Element::f16:
      return to_float(Half{read_bits(at, index)});
    case Element::bf16:
      return to_float(Bfloat16{read_bits(at, index)});
    case Element::e4m3:
      return from_e4m3(std::to_integer<uint8_t>(at[index]));
    case Element::i8:
      return read(int8_t{});
    case Element::u8:
      return read(uint8_t{});
    default:
      return read(float{});
  }
}

void put_number(std::byte* at, const Epilogue& epilogue, int64_t index, float value) {
  const auto put = [&](auto number) { std::memcpy(at + static_cast<size_t>(index) * sizeof number, &number, sizeof number); };
  const float quantum = std::nearbyint(value * epilogue.target_inverse) + static_cast<float>(epilogue.target_zero);
  switch (epilogue.target) {
    case Element::f16:
      return put(to_half(value).bits);
    case Element::bf16:
      return put(to_bfloat16(value).bits);
    case Element::e4m3:
      return put(to_e4m3(value));
    case Element::i8:
      return put(static_cast<int8_t>(std::clamp(quantum, -128.0F, 127.0F)));
    case Element::u8:
      return put(static_cast<uint8_t>(std::clamp(quantum, 0.0F, 255.0F)));
    default:
      return put(value);
  }
}

double weight_at(const Choice& choice, int64_t index) {
  const double weight = number_at(choice.weights.data.get(), choice.weights.type == DataType::i8 ? Element::i8 : Element::f32, index);
  return choice.problem.compute == ComputeType::f8 ? from_e4m3(to_e4m3(static_cast<float>(weight))) : weight;
}

// One sum, as convolution.h defines it.
double sum_of(const Choice& choice, const std::byte* source, int64_t image, int64_t y, int64_t x, int64_t out) {
  const Convolution& p = choice.problem;
  const int64_t in_each = p.in_channels / p.groups, first = out / (p.out_channels / p.groups) * in_each;
  double sum = 0;
  for (int64_t r = 0; r < p.kernel_h; ++r)
    for (int64_t s = 0; s < p.kernel_w; ++s) {
      const int64_t in_y = y * p.stride_h - p.pad_top + r * p.dilation_h, in_x = x * p.stride_w - p.pad_left + s * p.dilation_w;
      const bool inside = in_y >= 0 && in_y < p.in_h && in_x >= 0 && in_x < p.in_w;
      for (int64_t c = 0; c < in_each; ++c) {
        const double value =
            inside ? number_at(source, p.source, ((image * p.in_h + in_y) * p.in_w + in_x) * p.in_pitch + first + c) : p.source_zero;
        sum += value * weight_at(choice, ((out * in_each + c) * p.kernel_h + r) * p.kernel_w + s);
      }
    }
  return sum;
}

void convolve(const Choice& choice, HostEpilogue epilogue, const std::byte* source, const std::byte* residual, std::byte* target) {
  const Convolution& p = choice.problem;
  for (int64_t pixel = 0; pixel < p.batch * p.out_h * p.out_w; ++pixel)
    for (int64_t out = 0; out < p.out_pitch; ++out) {
      const int64_t at = pixel * p.out_pitch + out;
      if (out >= p.out_channels) {
        put_number(target, p.epilogue, at, 0);
        continue;
      }
      const double scale = p.compute == ComputeType::i8 || p.compute == ComputeType::f8 ? choice.scale_bias[static_cast<size_t>(out)] : 1.0;
      const double bias = choice.scale_bias[static_cast<size_t>(p.out_pitch + out)];
      const double sum = sum_of(choice, source, pixel / (p.out_h * p.out_w), pixel / p.out_w % p.out_h, pixel % p.out_w, out);
      float other = 0;
      if (residual != nullptr) {
        other = static_cast<float>(number_at(residual, p.epilogue.residual, at));
        const bool whole = p.epilogue.residual == Element::i8 || p.epilogue.residual == Element::u8;
        if (whole) other = (other - static_cast<float>(p.epilogue.residual_zero)) * p.epilogue.residual_scale;
      }
      put_number(target, p.epilogue, at, epilogue(static_cast<float>(sum * scale + bias), other));
    }
}

// Filled with no number, aligned to 16 bytes, and followed within 15 bytes by a page that cannot be read: a kernel that goes past its end
// dies here, where a GPU would read what lies beside it in the arena.
class GuardedMemory {
 public:
  explicit GuardedMemory(size_t bytes) {
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    const size_t used = (bytes + 15) / 16 * 16, pages = (used + page - 1) / page * page;
    mapped_ = pages + page;
    map_ = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map_ == MAP_FAILED || ::mprotect(static_cast<std::byte*>(map_) + pages, page, PROT_NONE) != 0)
      throw Error(ErrorKind::internal, "no memory for a buffer");
    begin_ = static_cast<std::byte*>(map_) + pages - used;
    std::memset(begin_, 0xcd, used);  // what nothing wrote is no number
  }
  GuardedMemory(GuardedMemory&& other) noexcept
      : map_(std::exchange(other.map_, MAP_FAILED)), mapped_(other.mapped_), begin_(other.begin_) {}
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  ~GuardedMemory() {
    if (map_ != MAP_FAILED) ::munmap(map_, mapped_);
  }
  std::byte* begin() const { return begin_; }

 private:
  void* map_ = MAP_FAILED;
  size_t mapped_ = 0;
  std::byte* begin_ = nullptr;
};

std::string epilogue_source(const Epilogue& epilogue) {
  std::string text = "(float v, float residual) {\n  (void)residual;\n";
  for (const EpilogueStep& step : epilogue.steps) text += fmt::format("  v = {};\n", step.expression());
  return text + "  return v;\n}\n";
}

}  // namespace

struct Emulator::Program {
  GpuPlan plan;
  std::vector<std::vector<std::string>> symbols;  // by step, by launch; of a choice its epilogue's
  std::vector<std::vector<size_t>> units;
};

Emulator::Emulator(std::string folder) : folder_(std::move(folder)) {}
Emulator::~Emulator() {
  for (void* library : libraries_) ::dlclose(library);
}

void Emulator::add_kernel(const std::string& text) {
  if (kernels_++ % kernels_a_unit == 0) texts_.emplace_back(host_words);
  texts_.back() += text;
}

size_t Emulator::add(GpuPlan plan) {
  auto program = std::make_unique<Program>();
  for (const Step& step : plan.steps) {
    program->symbols.emplace_back();
    program->units.emplace_back();
    const auto keep = [&](const std::string& symbol) {
      program->symbols.back().push_back(symbol);
      program->units.back().push_back(texts_.size() - 1);
    };
    if (step.choice) {
      const std::string symbol = fmt::format("epilogue_{}", kernels_);
      add_kernel(fmt::format("extern \"C\" float {}{}", symbol, epilogue_source(step.choice->problem.epilogue)));
      keep(symbol);
      continue;
    }
    for (const Launch& launch : step.launches) {
      const std::string symbol = fmt::format("run_{}", kernels_), own = fmt::format("kernel_{}", kernels_);
      std::string source = launch.source;
      replace_all(source, generated_prelude(), "");
      replace_all(source, launch.entry + "(", own + "(");
      const bool together = source.find("__syncthreads") != std::string::npos || source.find("__shfl") != std::string::npos;
      std::string call;
      for (size_t i = 0; i < launch.arguments.size(); ++i) call += fmt::format("{}Any{{arguments[{}]}}", i == 0 ? "" : ", ", i);
      add_kernel(fmt::format(
          "namespace n{} {{\nstruct Any {{ void* p; template <typename P> operator P*() const {{ return (P*)p; }} }};\n{}\nextern \"C\" "
          "void {}(const unsigned* grid, void** arguments) {{ run_blocks(grid, {}, {}, [&] {{ {}({}); }}); }}\n}}\n{}",
          kernels_, source, symbol, launch.block[0], together, own, call, forget));
      keep(symbol);
    }
  }
  program->plan = std::move(plan);
  programs_.push_back(std::move(program));
  return programs_.size() - 1;
}

void Emulator::compile() {
  make_directories(folder_);
  std::atomic<size_t> next = 0;
  std::vector<std::string> failures(texts_.size());
  const auto work = [&] {
    for (size_t i = next++; i < texts_.size(); i = next++) {
      const std::string stem = fmt::format("{}/unit{}", folder_, i);
      write_file_atomic(stem + ".cpp", texts_[i]);
      const std::string command = fmt::format("{} -std=c++20 -O1 -w -ffp-contract=off -shared -fPIC -pthread {}.cpp -o {}.so 2>{}.log",
                                              DEEPGAP_HOST_COMPILER, stem, stem, stem);
      if (std::system(command.c_str()) != 0) failures[i] = read_text(stem + ".log");
    }
  };
  std::jthread other(work);
  work();
  other.join();
  for (size_t i = 0; i < texts_.size(); ++i) {
    if (!failures[i].empty()) throw Error(ErrorKind::internal, fmt::format("unit {}: {}", i, failures[i].substr(0, 2000)));
    libraries_.push_back(::dlopen(fmt::format("{}/unit{}.so", folder_, i).c_str(), RTLD_NOW | RTLD_LOCAL));
    if (libraries_.back() == nullptr) throw Error(ErrorKind::internal, ::dlerror());
  }
}

std::vector<Tensor> Emulator::run(size_t index, std::span<const Tensor> inputs, const std::vector<Shape>& shapes,
                                  const std::vector<DataType>& types) const {
  const Program& program = *programs_.at(index);
  const GpuPlan& plan = program.plan;
  std::vector<GuardedMemory> memory;
  std::vector<std::byte*> at;
  for (const Buffer& buffer : plan.buffers) {
    std::byte* begin = memory.emplace_back(buffer.bytes).begin();
    at.push_back(begin);
    if (buffer.data) std::memcpy(begin, buffer.data->data(), buffer.bytes);
    if (buffer.kind == Buffer::Kind::input) std::memcpy(begin, inputs[buffer.external].data.get(), buffer.bytes);
  }
  const auto address = [&](BufferId id) { return id < 0 ? nullptr : at[static_cast<size_t>(id)]; };
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    for (size_t l = 0; l < program.symbols[s].size(); ++l) {
      void* symbol = ::dlsym(libraries_.at(program.units[s][l]), program.symbols[s][l].c_str());
      if (step.choice) {
        convolve(*step.choice, reinterpret_cast<HostEpilogue>(symbol), address(step.roles[role_source]), address(step.roles[role_residual]),
                 address(step.roles[role_target]));
        continue;
      }
      std::vector<void*> arguments;
      for (const Argument& argument : step.launches[l].arguments)
        arguments.push_back(address(step.roles.at(static_cast<size_t>(std::get<BufferArgument>(argument).role))));
      reinterpret_cast<HostKernel>(symbol)(step.launches[l].grid.data(), arguments.data());
    }
  }
  std::vector<Tensor> outputs;
  for (size_t o = 0; o < shapes.size(); ++o) {
    Tensor tensor = make_tensor(types[o], shapes[o]);
    for (size_t b = 0; b < plan.buffers.size(); ++b)
      if (plan.buffers[b].kind == Buffer::Kind::output && plan.buffers[b].external == o)
        std::memcpy(writable<std::byte>(tensor).data(), at[b], tensor.bytes());
    outputs.push_back(tensor);
  }
  return outputs;
}

}  // namespace deepgap::gpu
