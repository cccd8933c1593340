// The order in which kernels/chain.cuh reads the weights of a chain.
#include "engine/gpu/chain.h"
#include "engine/gpu/hopper_text.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/tile_epilogue.h"

namespace deepgap::gpu {
namespace {

// The channel of the factor that registers hold: byte `byte` of step `step` of 32.
int64_t channel_in_registers(int step, int byte, int size) {
  const int group = step / 2, quarter = byte % 16 / 4, word = step % 2 * 2 + byte / 16;
  return (group * chain_group_bytes + quarter * 16 + word * 4 + byte % 4) / size;
}

struct Packing {
  const Convolution& problem;
  const ChainPlan::Part& part;
  const WeightReader reader;
  std::vector<std::byte>& packed;
  int run;

  void put(size_t offset, int chunk, int column, int64_t in, int64_t tap) const {
    const int64_t out = static_cast<int64_t>(chunk) * part.product_columns + channel_of_column(column, run);
    if (out >= problem.out_channels || in >= problem.in_channels) return;
    put_operand(packed, (part.weights_at + offset) / operand_bytes(problem.compute), problem.compute,
                reader.at(out, in, tap / problem.kernel_w, tap % problem.kernel_w));
  }
  // The order is chunk of columns, channels, tap, column, byte.
  void from_shared(const ChainPlan::Source& source) const {
    const int size = bytes_of(problem.source);
    size_t piece = 0;
    for (int chunk = 0; chunk < part.columns / part.product_columns; ++chunk)
      for (int step = 0; step < source.steps; ++step)
        for (int tap = 0; tap < source.taps; ++tap, piece += static_cast<size_t>(part.product_columns * source.step_bytes))
          for (int column = 0; column < part.product_columns; ++column)
            for (int byte = 0; byte < source.step_bytes; byte += size)
              put(piece + permuted(static_cast<size_t>(column * source.step_bytes + byte), source.step_bytes), chunk, column,
                  (step * source.step_bytes + byte) / size, tap);
  }
  // The order is chunk of columns, 32 bytes of k, column, byte.
  void from_registers() const {
    const int size = bytes_of(problem.source);
    const auto steps = static_cast<int>(part.weight_bytes / static_cast<size_t>(part.columns) / 32);
    size_t piece = 0;
    for (int chunk = 0; chunk < part.columns / part.product_columns; ++chunk)
      for (int step = 0; step < steps; ++step, piece += static_cast<size_t>(part.product_columns * 32))
        for (int column = 0; column < part.product_columns; ++column)
          for (int byte = 0; byte < 32; byte += size)
            put(piece + permuted(static_cast<size_t>(column * 32 + byte), 32), chunk, column, channel_in_registers(step, byte, size), 0);
  }
};

}  // namespace

std::vector<std::byte> pack_chain(const Chain& chain, const ChainVariant& variant, std::span<const Tensor> weights) {
  const ChainPlan plan = plan_of(chain, variant.tile).value();
  std::vector<std::byte> packed(plan.weight_bytes);
  const auto problems = chain.problems();
  for (size_t i = 0; i < problems.size(); ++i) {
    const Packing packing{*problems[i], plan.parts[i], WeightReader(*problems[i], weights[i]), packed, 16 / bytes_of(problems[i]->source)};
    if (chain.branch && problems[i] == &*chain.branch)
      packing.from_shared(plan.branch);
    else if (i == 0)
      packing.from_shared(plan.source);
    else
      packing.from_registers();
  }
  return packed;
}

}  // namespace deepgap::gpu
