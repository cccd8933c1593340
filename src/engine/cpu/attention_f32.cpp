// Products in float32 by the evaluator's kernels: [depth][rows] times [depth][lanes].
#include "engine/cpu/attention_amx.h"
#include "engine/cpu/attention_softmax.h"
#include "engine/cpu/isa.h"
#include "model/eval/half.h"
#include "model/eval/kernels.h"

#include <algorithm>

namespace deepgap {
namespace {

void take_in_plain(float* scores, int64_t count, RunningSoftmax& running) { take_in_scores<8>(scores, count, running); }
#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void take_in_avx2(float* scores, int64_t count, RunningSoftmax& running) {
  take_in_scores<16>(scores, count, running);
}
[[gnu::target("avx512f,avx512dq,avx512vl,prefer-vector-width=512")]] void take_in_avx512(float* scores, int64_t count,
                                                                                         RunningSoftmax& running) {
  take_in_scores<32>(scores, count, running);
}
#endif

float number(float value) { return value; }
float number(Bfloat16 value) { return to_float(value); }

// to[d * width + line], and 0 where there is no line.
template <typename T>
void pack(const AttentionOperand& from, int64_t width, float* to) {
  const T* data = reinterpret_cast<const T*>(from.data) + from.offset;
  if (from.count < width) std::fill_n(to, from.depth * width, 0.0F);
  if (from.depth_step == 1) {
    for (int64_t line = 0; line < from.count; ++line)
      for (int64_t d = 0; d < from.depth; ++d) to[d * width + line] = number(data[d + line * from.line_step]);
  } else {
    for (int64_t d = 0; d < from.depth; ++d)
      for (int64_t line = 0; line < from.count; ++line) to[d * width + line] = number(data[d * from.depth_step + line * from.line_step]);
  }
}

void pack_numbers(const AttentionOperand& from, int64_t width, std::byte* panel) {
  auto* to = reinterpret_cast<float*>(panel);
  if (from.type == DataType::bf16) {
    pack<Bfloat16>(from, width, to);
  } else {
    pack<float>(from, width, to);
  }
}

size_t padded(int64_t floats) { return static_cast<size_t>((floats + 15) / 16 * 16) * sizeof(float); }

using TakeIn = void (*)(float* scores, int64_t count, RunningSoftmax& running);

class FloatProducts : public AttentionProducts {
 public:
  FloatProducts(const Kernels& kernels, TakeIn take_in) : kernels_(kernels), take_in_(take_in) {}
  int64_t rows() const override { return kernels_.tile_rows; }
  DataType factors() const override { return DataType::f32; }
  int64_t lanes() const override { return kernels_.tile_columns; }
  size_t left_bytes(int64_t depth) const override { return padded(depth * rows()); }
  size_t right_bytes(int64_t depth) const override { return padded(depth * lanes()); }
  void pack_left(const AttentionOperand& from, std::byte* panel) const override { pack_numbers(from, rows(), panel); }
  void pack_right(const AttentionOperand& from, std::byte* panel) const override { pack_numbers(from, lanes(), panel); }
  const std::byte* right_of(const float* sums, int64_t, std::byte*) const override { return reinterpret_cast<const std::byte*>(sums); }
  void multiply(const std::byte* left, int64_t, int64_t first, const std::byte* right, int64_t depth, float* tile) const override {
    kernels_.multiply_tile(reinterpret_cast<const float*>(left) + first * rows(), reinterpret_cast<const float*>(right), depth, tile);
  }
  void take_in(float* scores, int64_t count, RunningSoftmax& running) const override { take_in_(scores, count, running); }

 private:
  const Kernels& kernels_;
  TakeIn take_in_;
};

FloatProducts best_float_products() {
  const auto& all = supported_kernels();
#if defined(__x86_64__)
  for (const Kernels& kernels : all) {
    if (kernels.tile_columns == 32 && uses_avx512()) return {kernels, take_in_avx512};
    if (kernels.tile_columns == 16) return {kernels, take_in_avx2};
  }
#endif
  return {all.back(), take_in_plain};
}

}  // namespace

const AttentionProducts& attention_products(bool all_bf16) {
  static const FloatProducts floats = best_float_products();
  const AttentionProducts* tiles = all_bf16 ? amx_attention_products() : nullptr;
  return tiles == nullptr ? floats : *tiles;
}

}  // namespace deepgap
