#include "engine/gpu/wgmma.h"

#include "base/rounding.h"
#include "engine/gpu/hopper_text.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/tile_epilogue.h"
#include "engine/gpu/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace deepgap::gpu {
namespace {

bool is_matrix(const Convolution& problem) {
  return problem.kernel_h == 1 && problem.kernel_w == 1 && problem.stride_h == 1 && problem.stride_w == 1 && !reads_outside(problem) &&
         problem.out_h == problem.in_h && problem.out_w == problem.in_w;
}

// The last place that a convolution's first tap reads, from the image's end.
int64_t upper_corner(int64_t out, int64_t stride, int64_t pad, int64_t in) { return (out - 1) * stride - pad - in + 1; }

// Returns whether TMA's form for convolutions can describe the problem.
bool fits_copy_engine(const Convolution& problem) {
  const auto is_corner = [](int64_t corner) { return corner >= -128 && corner <= 127; };
  return problem.stride_h <= 8 && problem.stride_w <= 8 && (problem.kernel_h - 1) * problem.dilation_h <= 255 &&
         (problem.kernel_w - 1) * problem.dilation_w <= 255 && is_corner(-problem.pad_top) && is_corner(-problem.pad_left) &&
         is_corner(upper_corner(problem.out_h, problem.stride_h, problem.pad_top, problem.in_h)) &&
         is_corner(upper_corner(problem.out_w, problem.stride_w, problem.pad_left, problem.in_w)) &&
         problem.in_pitch * static_cast<int64_t>(byte_size(problem.source)) >= 32;
}

bool is_done_by_family(const Convolution& problem, const Chip& chip) {
  if (chip.architecture != 90 || problem.groups != 1 || problem.compute == ComputeType::f32) return false;
  if (problem.source_zero != 0 && reads_outside(problem)) return false;  // TMA pads with zeros alone
  const int64_t rows = problem.batch * problem.out_h * problem.out_w;
  if (rows < 1 || rows > INT32_MAX / 2 || problem.out_channels < 1) return false;
  if (problem.in_pitch * static_cast<int64_t>(byte_size(problem.source)) % 16 != 0) return false;
  return is_matrix(problem) || fits_copy_engine(problem);
}

// Packs by output tile, step (tap, channels), column, byte: every copy is one piece, permuted as it will lie in shared memory.
std::vector<std::byte> pack(const Convolution& problem, const ConvolutionVariant& variant, const Tensor& weights) {
  const WeightReader reader(problem, weights);
  const WgmmaPlan plan = plan_of(problem, tile_of(variant));
  const int row_bytes = plan.tile.step_bytes;
  const auto size = operand_bytes(problem.compute);
  const int64_t per_step = row_bytes / static_cast<int64_t>(size);
  std::vector<std::byte> packed(variant.packed_bytes);
  for (int64_t tile = 0; tile < plan.column_tiles; tile++)
    for (int64_t step = 0; step < plan.steps; step++)
      for (int column = 0; column < plan.tile.columns; column++) {
        const int64_t out = tile * plan.tile.columns + channel_of_column(column, plan.run);
        const int64_t tap = step / plan.tap_steps, first = step % plan.tap_steps * per_step;
        if (out >= problem.out_channels) continue;
        for (int64_t i = 0; i < per_step && first + i < problem.in_channels; i++) {
          const size_t offset = permuted(static_cast<size_t>(column * row_bytes) + static_cast<size_t>(i) * size, row_bytes);
          put_operand(packed, (static_cast<size_t>(tile * plan.steps + step) * plan.weight_bytes + offset) / size, problem.compute,
                      reader.at(out, first + i, tap / problem.kernel_w, tap % problem.kernel_w));
        }
      }
  return packed;
}

Argument source_map(const Convolution& problem, const WgmmaPlan& plan) {
  const uint64_t size = byte_size(problem.source);
  const auto pitch = static_cast<uint64_t>(problem.in_pitch), width = static_cast<uint64_t>(problem.in_w),
             height = static_cast<uint64_t>(problem.in_h), images = static_cast<uint64_t>(problem.batch);
  const auto channels = static_cast<uint32_t>(plan.tile.step_bytes / static_cast<int>(size));
  const auto rows = static_cast<uint32_t>(plan.tile.tile_rows());
  if (plan.plain) {
    TensorMapArgument map;
    map.role = role_source;
    map.element = problem.source;
    map.sizes = {pitch, images * height * width};
    map.strides = {pitch * size};
    map.box = {channels, rows};
    map.swizzle_bytes = plan.tile.step_bytes;
    return map;
  }
  Im2colMapArgument map;
  map.role = role_source;
  map.element = problem.source;
  map.sizes = {pitch, width, height, images};
  map.strides = {pitch * size, width * pitch * size, height * width * pitch * size};
  map.lower = {static_cast<int>(-problem.pad_left), static_cast<int>(-problem.pad_top)};
  map.upper = {static_cast<int>(upper_corner(problem.out_w, problem.stride_w, problem.pad_left, problem.in_w)),
               static_cast<int>(upper_corner(problem.out_h, problem.stride_h, problem.pad_top, problem.in_h))};
  map.channels = channels;
  map.pixels = rows;
  map.steps = {1, static_cast<uint32_t>(problem.stride_w), static_cast<uint32_t>(problem.stride_h), 1};
  map.swizzle_bytes = plan.tile.step_bytes;
  return map;
}

}  // namespace

Launch team_launch(const Convolution& problem, std::string entry, std::string text, const TeamTile& tile, int64_t grid, size_t shared_bytes,
                   Argument source) {
  Launch launch;
  launch.entry = std::move(entry);
  launch.source = std::move(text);
  launch.grid = {static_cast<unsigned>(grid), 1, 1};
  launch.block = {static_cast<unsigned>(tile.threads()), 1, 1};
  launch.shared_bytes = shared_bytes;
  launch.overlaps_previous = true;
  launch.arguments = {std::move(source), BufferArgument{role_weights}, BufferArgument{role_scale_bias}, BufferArgument{role_target}};
  if (problem.epilogue.has_residual()) launch.arguments.emplace_back(BufferArgument{role_residual});
  return launch;
}

int64_t block_count(const Chip& chip, const TeamTile& tile, bool resident, int64_t row_tiles, int64_t column_tiles) {
  const int64_t at_once = static_cast<int64_t>(chip.multiprocessors) * tile.blocks;
  if (resident) return column_tiles * std::clamp<int64_t>(at_once / column_tiles, 1, row_tiles);
  return std::min(at_once, row_tiles * column_tiles);
}

WgmmaTile tile_of(const ConvolutionVariant& variant) {
  const auto& n = variant.tile;
  return {
      {.teams = n[0], .row_blocks = n[1], .columns = n[2], .step_bytes = n[3], .blocks = n[6], .turns = n[8] != 0}, n[4], n[5], n[7] != 0};
}

WgmmaPlan plan_of(const Convolution& problem, const WgmmaTile& tile) {
  WgmmaPlan plan;
  plan.tile = tile;
  plan.run = run_of(problem, tile.columns);
  plan.tap_steps = static_cast<int>(divide_up(problem.in_pitch * static_cast<int64_t>(byte_size(problem.source)), tile.step_bytes));
  plan.steps = plan.tap_steps * static_cast<int>(problem.kernel_h * problem.kernel_w);
  plan.column_tiles = static_cast<int>(divide_up(problem.out_pitch, tile.columns));
  plan.row_tiles = divide_up(problem.batch * problem.out_h * problem.out_w, tile.tile_rows());
  plan.plain = is_matrix(problem);
  plan.weight_bytes = static_cast<size_t>(tile.columns) * static_cast<size_t>(tile.step_bytes);
  plan.stage_bytes = static_cast<size_t>(tile.stage_steps) *
                     (static_cast<size_t>(tile.tile_rows() * tile.step_bytes) + (tile.resident ? 0 : plan.weight_bytes));
  plan.shared_bytes = 1024 + (tile.resident ? static_cast<size_t>(plan.steps) * plan.weight_bytes : 0) +
                      static_cast<size_t>(tile.stages) * plan.stage_bytes + static_cast<size_t>(tile.teams * tile.columns * 8) +
                      static_cast<size_t>(2 * tile.stages + (tile.turns ? 2 : 1)) * 8;
  return plan;
}

ConvolutionVariant variant_of(const Convolution& problem, const WgmmaTile& tile, const Chip& chip) {
  const WgmmaPlan plan = plan_of(problem, tile);
  ConvolutionVariant variant;
  variant.name = fmt::format("wgmma {}x{}x{} t{} s{} b{}{}{}", tile.tile_rows(), tile.columns, tile.step_bytes * tile.stage_steps,
                             tile.teams, tile.stages, tile.blocks, tile.resident ? " resident" : "", tile.turns ? " turns" : "");
  variant.tile = {tile.teams,  tile.row_blocks, tile.columns,  tile.step_bytes, tile.stage_steps,
                  tile.stages, tile.blocks,     tile.resident, tile.turns};
  variant.pack = pack;
  variant.packed_bytes = static_cast<size_t>(plan.column_tiles) * static_cast<size_t>(plan.steps) * plan.weight_bytes;
  variant.launches.push_back(team_launch(problem, "wgmma", wgmma_text(problem, plan), tile,
                                         block_count(chip, tile, tile.resident, plan.row_tiles, plan.column_tiles), plan.shared_bytes,
                                         source_map(problem, plan)));
  return variant;
}

namespace {

using Candidate = Estimated<std::variant<WgmmaTile, WindowTile>>;

void sort(std::vector<Candidate>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) { return a.cycles < b.cycles; });
}

// Returns those of overlapping_tiles that may be the fastest, the best first.
std::vector<Candidate> overlapping_candidates(const Convolution& problem, const Chip& chip, double cycles_of_best) {
  constexpr size_t most = 8;
  constexpr double hope = 1.15;  // factor by which the estimate may be wrong
  std::vector<Candidate> all;
  for (const auto& [cycles, tile] : overlapping_tiles(problem, chip))
    if (cycles < hope * cycles_of_best) all.push_back({cycles, tile});
  sort(all);
  all.resize(std::min(all.size(), most));
  return all;
}

}  // namespace

std::vector<ConvolutionVariant> wgmma_variants(const Convolution& problem, const Chip& chip) {
  constexpr size_t most = 8, before_others = 5;
  std::vector<Candidate> candidates;
  if (is_done_by_family(problem, chip))
    for (const auto& [cycles, tile] : wgmma_tiles(problem, chip)) candidates.push_back({cycles, tile});
  for (const auto& [cycles, tile] : window_tiles(problem, chip)) candidates.push_back({cycles, tile});
  sort(candidates);
  candidates.resize(std::min(candidates.size(), most));
  if (is_done_by_family(problem, chip) && !candidates.empty()) {
    // Among the first, so that a quick tuner tries them; behind tiles for which the estimate is known to be good.
    const std::vector<Candidate> overlapping = overlapping_candidates(problem, chip, candidates[0].cycles);
    const auto middle = candidates.begin() + static_cast<ptrdiff_t>(std::min(candidates.size(), before_others));
    const size_t early = std::min<size_t>(overlapping.size(), 3);
    candidates.insert(middle, overlapping.begin(), overlapping.begin() + static_cast<ptrdiff_t>(early));
    candidates.insert(candidates.end(), overlapping.begin() + static_cast<ptrdiff_t>(early), overlapping.end());
  }
  std::vector<ConvolutionVariant> variants;
  for (const Candidate& candidate : candidates)
    variants.push_back(std::visit([&](const auto& tile) { return variant_of(problem, tile, chip); }, candidate.tile));
  return variants;
}

}  // namespace deepgap::gpu
