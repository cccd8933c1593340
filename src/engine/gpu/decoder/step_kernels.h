// The kernels of a decoder's steps: kernels/decoder_*.cuh, compiled with the constants of one network. A kernel is compiled when it is
// first asked for.
//
// Threads: one at a time, the context current.
#pragma once

#include "cuda/objects.h"
#include "engine/gpu/decoder/device_matrix.h"
#include "engine/gpu/kernels.h"
#include "model/decoder/decoder.h"

#include <array>
#include <map>
#include <string>

namespace deepgap::gpu {

struct StepShape {
  DecoderShape decoder;
  DecoderStyle style;
  Element halves = Element::f16;
  bool any_quantized = false;
  int64_t cache_context = 0;  // tokens of a sequence

  int64_t pitch(int64_t columns) const { return padded_columns(columns, any_quantized); }
  int64_t queries() const { return decoder.heads * decoder.head_size; }
  int64_t qkv() const { return queries() + 2 * decoder.kv_heads * decoder.head_size; }
  int64_t shared() const { return decoder.heads / decoder.kv_heads; }  // queries a head of keys
};

// How a product is cut: groups of eight tokens, tiles of 16 rows of weights a warp.
struct ProductCut {
  int groups = 1, tiles = 1;
  bool normalizes = false;  // RMSNorm of one token's numbers between layers, which are its source
};
ProductCut product_cut(int64_t tokens, int64_t rows, int multiprocessors);

inline constexpr int product_warps = 8;
inline constexpr int64_t most_product_tokens = 64;

// A function with the shared memory that its launches take.
struct StepKernel {
  cuda::Function function = nullptr;
  size_t shared_bytes = 0;
};

// The text that all kernels but products are made from, and that of a product: for tests, too.
std::string step_text(const StepShape& shape);
std::string product_text(WeightType type, const StepShape& shape, const ProductCut& cut);
size_t product_shared_bytes(const ProductCut& cut, int64_t pitch);
size_t step_shared_bytes(const std::string& entry, const StepShape& shape);

class StepKernels {
 public:
  StepKernels(const Chip& chip, const std::string& folder) : chip_(chip), kernels_(chip, folder) {}
  // Kernels that are asked for from now on are of this shape.
  void use(const StepShape& shape);
  StepKernel step(const std::string& entry);
  StepKernel product(WeightType type, const ProductCut& cut, const std::string& entry);
  const Chip& chip() const { return chip_; }

 private:
  StepKernel found(const std::string& name, const std::string& entry, const std::string& source, size_t shared_bytes);

  Chip chip_;
  Kernels kernels_;
  StepShape shape_;
  std::string step_text_;
  std::map<std::string, StepKernel> known_;
};

// Queues a kernel; pointers are passed as cuda::Address, numbers as int.
template <typename... Arguments>
void launch(const StepKernel& kernel, std::array<int64_t, 3> grid, unsigned threads, bool overlapping, cuda::StreamHandle stream,
            Arguments... arguments) {
  cuda::LaunchAttribute attribute{};
  attribute.id = cuda::attribute_programmatic;
  attribute.value.flag = 1;
  const cuda::LaunchConfig config{.grid_x = static_cast<unsigned>(grid[0]),
                                  .grid_y = static_cast<unsigned>(grid[1]),
                                  .grid_z = static_cast<unsigned>(grid[2]),
                                  .block_x = threads,
                                  .block_y = 1,
                                  .block_z = 1,
                                  .shared_bytes = static_cast<unsigned>(kernel.shared_bytes),
                                  .stream = stream,
                                  .attributes = &attribute,
                                  .attribute_count = overlapping ? 1U : 0U};
  void* parameters[] = {&arguments...};
  cuda::check(cuda::driver().cuLaunchKernelEx(&config, kernel.function, parameters, nullptr), "launching a kernel");
}

}  // namespace deepgap::gpu
