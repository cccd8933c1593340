#include "emulator.h"

#include "guarded_memory.h"
#include "host_numbers.h"
#include "plain_convolution.h"

#include "engine/gpu/generated.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <optional>
#include <thread>

namespace deepgap::gpu {
namespace {

constexpr size_t kernels_a_unit = 40;

// What a kernel's text expects of CUDA. Threads of a block that wait for each other take turns on one thread of the host's, each with a
// stack of its own, and go on when all have come to where they wait.
constexpr const char* host_words = R"(
#include <ucontext.h>
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
struct Fiber { ucontext_t context; char* stack = nullptr; bool ended = false; ~Fiber() { delete[] stack; } };
static Fiber fibers[1024];
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
  for (unsigned t = 0; t < threads; ++t) {
    Fiber& fiber = fibers[t];
    if (!fiber.stack) fiber.stack = new char[stack_bytes];
    getcontext(&fiber.context);
    fiber.context.uc_stack = {fiber.stack, 0, stack_bytes};
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
static inline int atomicAdd(int* number, int more) { return (*number += more) - more; }
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
    "#undef RESULT\n#undef KEPT\n#undef INVERSE\n#undef SCALED\n#undef TERM\n#undef ENDED\n";

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) text.replace(at, what.size(), with);
}

using HostKernel = void (*)(const unsigned* grid, void** arguments);
using CompiledEpilogue = float (*)(float v, float residual);

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

Emulator::Emulator() = default;
Emulator::~Emulator() = default;

void Emulator::add_kernel(const std::string& text) {
  if (kernels_++ % kernels_a_unit == 0) texts_.emplace_back();
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
      replace_all(source, "#define ENTRY " + launch.entry + "\n", "#define ENTRY " + own + "\n");
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
  const HostWords words{std::string(host_numbers) + host_words, {}};
  std::vector<std::optional<HostLibrary>> made(texts_.size());
  std::vector<std::exception_ptr> failures(texts_.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < texts_.size(); i = next++) {
      try {
        made[i].emplace(words, texts_[i]);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  std::jthread other(work);
  work();
  other.join();
  for (size_t i = 0; i < texts_.size(); ++i) {
    if (failures[i]) std::rethrow_exception(failures[i]);
    libraries_.push_back(std::move(*made[i]));
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
    // Not memcpy: what is empty may lie nowhere.
    if (buffer.data) std::copy_n(buffer.data->data(), buffer.bytes, begin);
    if (buffer.kind == Buffer::Kind::input) std::copy_n(inputs[buffer.external].data.get(), buffer.bytes, begin);
  }
  const auto address = [&](BufferId id) { return id < 0 ? nullptr : at[static_cast<size_t>(id)]; };
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    for (size_t l = 0; l < program.symbols[s].size(); ++l) {
      void* symbol = libraries_.at(program.units[s][l]).symbol(program.symbols[s][l]);
      if (step.choice) {
        const Choice& choice = *step.choice;
        convolve(choice.problem, choice.weights, choice.scale_bias, reinterpret_cast<CompiledEpilogue>(symbol),
                 address(step.roles[role_source]), address(step.roles[role_residual]), address(step.roles[role_target]));
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
        std::copy_n(at[b], tensor.bytes(), writable<std::byte>(tensor).data());
    outputs.push_back(tensor);
  }
  return outputs;
}

}  // namespace deepgap::gpu
