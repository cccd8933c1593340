// The first convolution of a network, over few channels: 7x7 or 3x3 with stride 2 over 3. Its rows of k would be mostly padding as implicit
// GEMM by channels. Here the rows of the image that a tile needs lie in shared memory with four channels a pixel; what a row of the
// kernel covers is one run of bytes there (padded to 32), so threads read wgmma's first operand with plain loads at a stride.
#include "engine/gpu/stem.h"

#include "base/rounding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace deepgap::gpu {
namespace {

StemPlan plan_of(const Convolution& problem, int rows, int teams, int blocks) {
  const int64_t source_rows = (rows - 1) * problem.stride_h + (problem.kernel_h - 1) * problem.dilation_h + 1;
  return stem_plan(problem, rows, teams, blocks, problem.kernel_w, 0, source_rows, teams);
}

std::vector<std::byte> pack(const Convolution& problem, const ConvolutionVariant& variant, const Tensor& weights) {
  const StemPlan plan = plan_of(problem, variant.tile[0], variant.tile[1], variant.tile[2]);
  return pack_stem(problem, plan, weights, [&](int step, int byte) { return step % plan.run_steps * 32 + byte; });
}

ConvolutionVariant variant_of(const Convolution& problem, const StemPlan& plan, const Chip& chip) {
  const std::string constants = fmt::format("table_share = {}, batch_steps = {}", divide_up(plan.columns, 128), std::min(plan.steps, 7));
  ConvolutionVariant variant = stem_variant(problem, plan, chip, problem.batch * divide_up(problem.out_h, plan.rows), "stem",
                                            stem_text(problem, plan, constants, "stem"));
  variant.name = fmt::format("stem {}x{} t{} b{}", plan.rows, plan.columns, plan.teams, plan.blocks);
  variant.pack = pack;
  return variant;
}

}  // namespace

int stem_columns(const Convolution& problem) {
  for (const int columns : {16, 32, 48, 64, 96, 128})
    if (columns >= problem.out_pitch && takes_columns(problem.compute, columns)) return columns;
  return 0;
}

int copied_pixels(const Convolution& problem) {
  const int wide = 16 / static_cast<int>(stem_channels * static_cast<int64_t>(byte_size(problem.source)));
  return problem.in_pitch == stem_channels && problem.in_w % wide == 0 ? wide : 1;
}

bool is_stem(const Convolution& problem, const Chip& chip) {
  const int64_t unit = 16 / static_cast<int64_t>(byte_size(problem.source));
  return chip.architecture == 90 && problem.groups == 1 && problem.in_channels <= stem_channels && problem.compute != ComputeType::f32 &&
         (problem.in_pitch == stem_channels || problem.in_pitch == unit) && problem.dilation_w == 1 && problem.batch > 0 &&
         problem.kernel_h * problem.kernel_w > 1 && problem.kernel_h * problem.kernel_w <= 64 && stem_columns(problem) > 0 &&
         !problem.epilogue.has_residual() && problem.batch * problem.out_h < INT32_MAX;
}

StemPlan stem_plan(const Convolution& problem, int rows, int teams, int blocks, int64_t run_pixels, int shift, int64_t source_rows,
                   int tables) {
  StemPlan plan{};
  plan.rows = rows;
  plan.teams = teams;
  plan.blocks = blocks;
  plan.columns = stem_columns(problem);
  plan.pixel_bytes = static_cast<int>(stem_channels * static_cast<int64_t>(byte_size(problem.source)));
  plan.run_steps = static_cast<int>(divide_up(run_pixels * plan.pixel_bytes, 32));
  plan.steps = plan.run_steps * static_cast<int>(problem.kernel_h);
  plan.shift = shift;
  plan.piece = copied_pixels(problem);
  plan.origin = static_cast<int>(divide_up(problem.pad_left + shift, plan.piece)) * plan.piece;
  const int64_t last = (problem.out_w - 1) * problem.stride_w + plan.origin - problem.pad_left - shift;
  plan.row_bytes = static_cast<int>(round_up(last * plan.pixel_bytes + int64_t{plan.run_steps} * 32, 16));
  plan.source_rows = static_cast<int>(source_rows);
  plan.source_bytes = static_cast<size_t>(plan.row_bytes) * static_cast<size_t>(plan.source_rows);
  plan.weight_bytes = static_cast<size_t>(plan.steps) * static_cast<size_t>(plan.columns) * 32;
  plan.shared_bytes = 1024 + plan.weight_bytes + 2 * plan.source_bytes + static_cast<size_t>(tables * plan.columns * 8) + 16;
  return plan;
}

std::string stem_text(const Convolution& problem, const StemPlan& plan, const std::string& constants, const char* file) {
  std::string text(kernel_prelude());
  text += hopper_prelude();
  text += epilogue_text(problem) + shape_text(problem);
  text += fmt::format(
      "static const int rows = {}, teams = {}, blocks = {}, columns = {}, pixel_bytes = {}, run_steps = {}, steps = {}, piece = {}, "
      "origin = {}, row_bytes = {}, source_rows = {}, source_bytes = {}, weight_bytes = {}, run = {}, {};\n",
      plan.rows, plan.teams, plan.blocks, plan.columns, plan.pixel_bytes, plan.run_steps, plan.steps, plan.piece, plan.origin,
      plan.row_bytes, plan.source_rows, plan.source_bytes, plan.weight_bytes, run_of(problem, plan.columns), constants);
  return text + product_text(problem, plan.columns) + tile_epilogue_text() + kernel_file("stem_source") + kernel_file(file);
}

ConvolutionVariant stem_variant(const Convolution& problem, const StemPlan& plan, const Chip& chip, int64_t tiles, const char* entry,
                                std::string source) {
  ConvolutionVariant variant;
  variant.tile = {plan.rows, plan.teams, plan.blocks};
  variant.packed_bytes = plan.weight_bytes;
  Launch launch;
  launch.entry = entry;
  launch.source = std::move(source);
  launch.grid = {static_cast<unsigned>(std::min<int64_t>(tiles, static_cast<int64_t>(chip.multiprocessors) * plan.blocks)), 1, 1};
  launch.block = {static_cast<unsigned>(plan.teams * 128), 1, 1};
  launch.shared_bytes = plan.shared_bytes;
  launch.overlaps_previous = true;
  launch.arguments = arguments_of(problem);
  variant.launches.push_back(std::move(launch));
  return variant;
}

std::vector<ConvolutionVariant> stem_variants(const Convolution& problem, const Chip& chip) {
  if (!is_stem(problem, chip)) return {};
  std::vector<ConvolutionVariant> variants;
  constexpr std::array<std::array<int, 2>, 6> shapes{{{8, 4}, {4, 1}, {8, 2}, {4, 2}, {2, 1}, {1, 1}}};  // rows, teams
  for (const auto& [rows, teams] : shapes) {
    const StemPlan once = plan_of(problem, rows, teams, 1);
    const int registers = once.columns / 2 + 8 * std::min(once.steps, 7) + 40;
    const auto by_registers = 65536 / (teams * 128 * registers);
    const auto by_shared = static_cast<int>((chip.shared_bytes + 1024) / (once.shared_bytes + 1024));
    const int blocks = std::min({by_registers, by_shared, rows == 1 ? 3 : 6});
    if (rows <= std::max<int64_t>(1, problem.out_h) && blocks > 0)
      variants.push_back(variant_of(problem, plan_of(problem, rows, teams, blocks), chip));
  }
  return variants;
}

}  // namespace deepgap::gpu
