#include "engine/gpu/hopper_text.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/tile_epilogue.h"
#include "engine/gpu/window.h"

#include <fmt/format.h>

namespace deepgap::gpu {
namespace {

std::string constants_text(const Convolution& problem, const WindowPlan& plan) {
  const WindowTile& tile = plan.tile;
  const int products = products_of(problem.compute, tile.columns, tile.entry_registers());
  std::string text =
      tile_constants_text(tile) + fmt::format(
                                      "static const int regions = {}, source_stages = {}, weight_stages = {}, run = {}, "
                                      "products = {}, kept_groups = {}, step_elements = "
                                      "{};\n",
                                      tile.regions, tile.source_stages, tile.weight_stages, run_of(problem, tile.columns), products,
                                      kept_groups_of(problem, tile), tile.step_bytes / static_cast<int>(byte_size(problem.source)));
  text += fmt::format(
      "static const int padded_w = {}, region_rows = {}, row_regions = {}, row_tiles = {}, column_tiles = {}, channel_steps = {}, taps = "
      "{}, "
      "region_bytes = {}, box_bytes = {}, weight_bytes = {};\nstatic const bool whole_columns = {};\n",
      plan.padded_w, plan.region_rows, plan.row_regions, plan.row_tiles, plan.column_tiles, plan.channel_steps, plan.taps,
      plan.region_bytes, plan.box_bytes, plan.weight_bytes, problem.out_pitch % tile.columns == 0);
  return text + product_text(problem, tile.columns / products);
}

}  // namespace

std::string window_text(const Convolution& problem, const WindowPlan& plan) {
  std::string text(kernel_prelude());
  text += hopper_prelude();
  text += epilogue_text(problem) + shape_text(problem) + constants_text(problem, plan);
  for (const std::string_view part : {"tile_epilogue", "window", "tile_rows", "window_consumer"}) text += kernel_file(part);
  return text + team_kernel_text("window", plan.tile, problem.epilogue.has_residual());
}

}  // namespace deepgap::gpu
