#include "engine/gpu/window.h"

#include "base/rounding.h"
#include "engine/gpu/hopper_text.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/tile_cost.h"
#include "engine/gpu/tile_epilogue.h"

#include <fmt/format.h>

#include <array>

namespace deepgap::gpu {
namespace {

bool is_done_by_family(const Convolution& problem, const Chip& chip) {
  if (chip.architecture != 90 || problem.groups != 1 || problem.compute == ComputeType::f32 || problem.batch < 1) return false;
  if (problem.stride_h != 1 || problem.stride_w != 1 || problem.kernel_h * problem.kernel_w < 2) return false;
  if (problem.source_zero != 0 && reads_outside(problem)) return false;  // TMA pads with zeros alone
  return problem.batch * problem.out_h * problem.out_w < INT32_MAX / 2 &&
         problem.in_pitch * static_cast<int64_t>(byte_size(problem.source)) >= 32;
}

WindowTile window_tile_of(const ConvolutionVariant& variant) {
  const auto& n = variant.tile;
  return {{.teams = n[0], .row_blocks = n[1], .columns = n[2], .step_bytes = n[6], .blocks = n[7]}, n[3], n[4], n[5]};
}

// Packs by output tile, channels, tap, column, byte.
std::vector<std::byte> pack(const Convolution& problem, const ConvolutionVariant& variant, const Tensor& weights) {
  const WeightReader reader(problem, weights);
  const WindowPlan plan = plan_of(problem, window_tile_of(variant));
  const int row_bytes = plan.tile.step_bytes, run = run_of(problem, plan.tile.columns);
  const auto size = operand_bytes(problem.compute);
  const int64_t per_step = row_bytes / static_cast<int64_t>(size);
  std::vector<std::byte> packed(variant.packed_bytes);
  size_t piece = 0;
  for (int64_t tile = 0; tile < plan.column_tiles; tile++)
    for (int64_t first = 0; first < plan.channel_steps * per_step; first += per_step)
      for (int64_t tap = 0; tap < plan.taps; tap++, piece++)
        for (int column = 0; column < plan.tile.columns; column++) {
          const int64_t out = tile * plan.tile.columns + channel_of_column(column, run);
          for (int64_t i = 0; out < problem.out_channels && i < per_step && first + i < problem.in_channels; i++) {
            const size_t offset = permuted(static_cast<size_t>(column * row_bytes) + static_cast<size_t>(i) * size, row_bytes);
            put_operand(packed, (piece * plan.weight_bytes + offset) / size, problem.compute,
                        reader.at(out, first + i, tap / problem.kernel_w, tap % problem.kernel_w));
          }
        }
  return packed;
}

TensorMapArgument source_map(const Convolution& problem, const WindowPlan& plan) {
  const uint64_t size = byte_size(problem.source);
  const auto pixel = static_cast<uint64_t>(problem.in_pitch) * size, width = static_cast<uint64_t>(problem.in_w),
             height = static_cast<uint64_t>(problem.in_h);
  TensorMapArgument map;
  map.role = role_source;
  map.element = problem.source;
  map.sizes = {static_cast<uint64_t>(problem.in_pitch), width, height, static_cast<uint64_t>(problem.batch)};
  map.strides = {pixel, pixel * width, pixel * width * height};
  map.box = {static_cast<uint32_t>(plan.tile.step_bytes) / static_cast<uint32_t>(size), static_cast<uint32_t>(plan.padded_w),
             static_cast<uint32_t>(plan.box_rows), 1};
  map.swizzle_bytes = plan.tile.step_bytes;
  return map;
}

double estimate(const Convolution& problem, const WindowTile& tile, const Chip& chip) {
  const WindowPlan plan = plan_of(problem, tile);
  TileWork work = work_of(tile, plan.row_tiles, plan.column_tiles);
  work.k_bytes = static_cast<double>(plan.channel_steps * plan.taps) * tile.step_bytes;
  work.source_bytes = static_cast<double>(plan.box_bytes) * plan.channel_steps * tile.regions;
  work.flight_bytes = static_cast<double>(plan.box_bytes) * (tile.source_stages - 1) +
                      (tile.resident() ? 0 : static_cast<double>(plan.weight_bytes) * (tile.weight_stages - 1));
  work.resident = tile.resident();
  return cycles_of(problem, work, chip);
}

// Makes the stages as deep as shared memory allows; returns false if it does not.
bool give_stages(const Convolution& problem, WindowTile& tile, bool resident, const Chip& chip) {
  constexpr size_t of_system = 1 << 10;
  const size_t room = std::min(chip.shared_bytes, (chip.shared_bytes + of_system) / static_cast<size_t>(tile.blocks) - of_system);
  for (const int sources : {3, 2})
    for (const int weights : {8, 6, 4, 3}) {
      tile.source_stages = sources;
      tile.weight_stages = resident ? 0 : weights;
      const WindowPlan plan = plan_of(problem, tile);
      if (plan.region_rows > 0 && plan.shared_bytes <= room) return true;
    }
  return false;
}

void add_tiles(const Convolution& problem, const Chip& chip, WindowTile tile, std::vector<Estimated<WindowTile>>& tiles) {
  const int wanted =
      tile.row_blocks * tile.columns / 2 + (problem.epilogue.has_residual() ? 20 + 12 * tile.row_blocks : 0) + 36 + 20 * tile.row_blocks;
  for (const bool resident : {true, false})
    for (tile.blocks = 2; tile.blocks > 0; tile.blocks--)
      if (tile.team_registers() >= wanted && give_stages(problem, tile, resident, chip))
        tiles.push_back({estimate(problem, tile, chip), tile});
}

}  // namespace

WindowPlan plan_of(const Convolution& problem, const WindowTile& tile) {
  WindowPlan plan;
  plan.tile = tile;
  const int64_t reach_h = (problem.kernel_h - 1) * problem.dilation_h, reach_w = (problem.kernel_w - 1) * problem.dilation_w;
  const int64_t padded = problem.out_w + reach_w, units = tile.tile_rows() / tile.regions;
  const int64_t rows = std::min(units / padded, problem.out_h);
  if (rows < 1 || padded > 256 || rows + reach_h > 256) return plan;
  plan.padded_w = static_cast<int>(padded);
  plan.region_rows = static_cast<int>(divide_up(problem.out_h, divide_up(problem.out_h, rows)));  // as even as possible
  plan.box_rows = static_cast<int>(plan.region_rows + reach_h);
  plan.row_regions = static_cast<int>(divide_up(problem.out_h, plan.region_rows));
  plan.row_tiles = divide_up(problem.batch * plan.row_regions, tile.regions);
  plan.column_tiles = static_cast<int>(divide_up(problem.out_pitch, tile.columns));
  plan.channel_steps = static_cast<int>(divide_up(problem.in_pitch * static_cast<int64_t>(byte_size(problem.source)), tile.step_bytes));
  plan.taps = static_cast<int>(problem.kernel_h * problem.kernel_w);
  const int64_t pixels = std::max<int64_t>(plan.box_rows * padded, units + reach_h * padded + reach_w);
  plan.box_bytes = static_cast<size_t>(plan.box_rows * padded * tile.step_bytes);
  plan.region_bytes = static_cast<size_t>(divide_up(pixels * tile.step_bytes, 1024) * 1024);
  plan.weight_bytes = static_cast<size_t>(tile.columns) * static_cast<size_t>(tile.step_bytes);
  const int weights = tile.resident() ? plan.channel_steps * plan.taps : tile.weight_stages;
  plan.shared_bytes =
      1024 + static_cast<size_t>(weights) * plan.weight_bytes + static_cast<size_t>(tile.source_stages * tile.regions) * plan.region_bytes +
      static_cast<size_t>(tile.teams * tile.columns * 8) + static_cast<size_t>(2 * tile.source_stages + 2 * tile.weight_stages + 1) * 8;
  return plan;
}

ConvolutionVariant variant_of(const Convolution& problem, const WindowTile& tile, const Chip& chip) {
  const WindowPlan plan = plan_of(problem, tile);
  ConvolutionVariant variant;
  variant.name = fmt::format("window {}x{}x{} t{} r{} s{} w{} b{}", tile.tile_rows(), tile.columns, tile.step_bytes, tile.teams,
                             tile.regions, tile.source_stages, tile.weight_stages, tile.blocks);
  variant.tile = {tile.teams,         tile.row_blocks,    tile.columns,    tile.regions,
                  tile.source_stages, tile.weight_stages, tile.step_bytes, tile.blocks};
  variant.pack = pack;
  variant.packed_bytes = static_cast<size_t>(plan.column_tiles * plan.channel_steps * plan.taps) * plan.weight_bytes;
  variant.launches.push_back(team_launch(problem, "window", window_text(problem, plan), tile,
                                         block_count(chip, tile, tile.resident(), plan.row_tiles, plan.column_tiles), plan.shared_bytes,
                                         source_map(problem, plan)));
  return variant;
}

std::vector<Estimated<WindowTile>> window_tiles(const Convolution& problem, const Chip& chip) {
  constexpr std::array<std::array<int, 2>, 5> team_shapes{{{2, 1}, {2, 2}, {4, 1}, {1, 2}, {1, 1}}};
  std::vector<Estimated<WindowTile>> tiles;
  if (!is_done_by_family(problem, chip)) return tiles;
  const int64_t bytes = problem.in_pitch * static_cast<int64_t>(byte_size(problem.source));
  const auto is_wasteful = [&](int columns) {
    return columns > 32 && divide_up(problem.out_pitch, columns) * columns * 4 > problem.out_pitch * 5;
  };
  for (const int columns : {256, 192, 128, 64, 32})
    for (const auto& [teams, row_blocks] : team_shapes)
      for (const bool apart : {false, true}) {
        if (row_blocks * columns > 256 || is_wasteful(columns) || (apart && teams * row_blocks == 1)) continue;
        WindowTile tile;
        tile.teams = teams;
        tile.row_blocks = row_blocks;
        tile.columns = columns;
        tile.regions = apart ? teams * row_blocks : 1;
        tile.step_bytes = bytes % 128 == 0 || bytes > 256 ? 128 : bytes % 64 == 0 || bytes > 64 ? 64 : 32;
        add_tiles(problem, chip, tile, tiles);
      }
  return tiles;
}

}  // namespace deepgap::gpu
