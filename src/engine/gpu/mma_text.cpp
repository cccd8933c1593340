// The text of kernels/mma*.cuh for one problem: its numbers, and the files in order.
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/mma.h"

#include <fmt/format.h>

namespace deepgap::gpu {
namespace {

std::string multiply_text(const Convolution& problem) {
  std::string_view name = "mma_f16";
  if (problem.compute == ComputeType::bf16) name = "mma_bf16";
  if (problem.compute == ComputeType::tf32) name = "mma_tf32";
  if (problem.compute == ComputeType::f8) name = "mma_e4m3";
  if (problem.compute == ComputeType::i8) name = problem.source == Element::u8 ? "mma_u8" : "mma_s8";
  return fmt::format("#define multiply {}\nstatic const bool rounds_source = {};\n", name, problem.compute == ComputeType::tf32);
}

std::string constants(const Convolution& problem, const MmaTile& tile, const MmaSplit& s) {
  const int64_t source_bytes = (problem.batch + 1) * (problem.in_h + problem.kernel_h) * problem.in_w * problem.in_pitch *
                               static_cast<int64_t>(byte_size(problem.source));
  const bool small = source_bytes < INT32_MAX && problem.batch * problem.out_h * problem.out_w < INT32_MAX;
  std::string text =
      fmt::format("typedef {} Offset;\ntypedef {} Index;\n", small ? "unsigned" : "long long", small ? "unsigned" : "unsigned long long");
  const auto zero = static_cast<uint32_t>(static_cast<uint8_t>(problem.source_zero)) * 0x01010101u;
  text += fmt::format("static const bool border = {};\nstatic const unsigned outside_word = {}u;\n", reads_outside(problem), zero);
  text += constant_text("tile_m", tile.m) + constant_text("tile_n", tile.n) + constant_text("row_bytes", tile.row_bytes);
  text += constant_text("stages", tile.stages) + constant_text("warps_m", tile.warps_m) + constant_text("warps_n", tile.warps_n);
  text += constant_text("warps_k", tile.warps_k) + constant_text("split", tile.split) + constant_text("vector", s.vector);
  text += constant_text("place_chunks", s.place_chunks) + constant_text("steps", s.steps);
  text += constant_text("steps_each", (s.steps + tile.split - 1) / tile.split);
  text += constant_text("tiles_n", s.tiles_n) + constant_text("super_groups", s.groups);
  return text + constant_text("super_in", s.in) + constant_text("super_out", s.out);
}

}  // namespace

std::string mma_text(const Convolution& problem, const MmaTile& tile, const MmaSplit& split) {
  const bool floats = problem.compute == ComputeType::f32;
  std::string text(kernel_prelude());
  text += epilogue_text(problem) + shape_text(problem) + constants(problem, tile, split);
  text += multiply_text(problem);
  text += kernel_file("mma_load") + kernel_file(floats ? "mma_floats" : "mma_tensor_cores") + mma_epilogue_text(problem, tile);
  text += tile.split > 1 ? "#define RANK rank_in_cluster\n" : "#define RANK() 0\n";
  return text + head_text(problem, "mma", static_cast<unsigned>(tile.threads())) + kernel_file("mma");
}

}  // namespace deepgap::gpu
