#include "engine/gpu/hopper_text.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/tile_epilogue.h"
#include "engine/gpu/wgmma.h"

#include <fmt/format.h>

namespace deepgap::gpu {
namespace {

std::string constants_text(const Convolution& problem, const WgmmaPlan& plan) {
  const WgmmaTile& tile = plan.tile;
  const auto flag = [](std::string_view name, bool value) { return fmt::format("static const bool {} = {};\n", name, value); };
  std::string text =
      tile_constants_text(tile) +
      fmt::format(
          "static const int stage_steps = {}, stages = {}, run = {}, tap_steps = {}, steps = {}, column_tiles = {}, row_tiles = {}, "
          "weight_bytes = {}, step_elements = {}, kept_groups = {}, products = {};\n",
          tile.stage_steps, tile.stages, plan.run, plan.tap_steps, plan.steps, plan.column_tiles, plan.row_tiles, plan.weight_bytes,
          tile.step_bytes / byte_size(problem.source), kept_groups_of(problem, tile),
          products_of(problem.compute, tile.columns, tile.entry_registers()));
  return text + flag("plain", plan.plain) + flag("resident", tile.resident) + flag("whole_columns", problem.out_pitch % tile.columns == 0);
}

}  // namespace

std::string wgmma_text(const Convolution& problem, const WgmmaPlan& plan) {
  std::string text(kernel_prelude());
  text += hopper_prelude();
  text += epilogue_text(problem) + shape_text(problem) + constants_text(problem, plan) +
          product_text(problem, plan.tile.columns / products_of(problem.compute, plan.tile.columns, plan.tile.entry_registers()));
  for (const std::string_view part : {"tile_epilogue", "wgmma", "tile_rows", "wgmma_consumer"}) text += kernel_file(part);
  return text + team_kernel_text("wgmma", plan.tile, problem.epilogue.has_residual());
}

}  // namespace deepgap::gpu
