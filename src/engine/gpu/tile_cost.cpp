#include "engine/gpu/tile_cost.h"

#include <algorithm>
#include <cmath>

namespace deepgap::gpu {
namespace {

double bytes_of(int64_t elements, Element element) { return static_cast<double>(elements) * static_cast<double>(byte_size(element)); }

// Stores of less than 16 bytes a thread use part of what is moved.
double store_factor(const Convolution& problem, int columns) {
  const size_t bytes = static_cast<size_t>(run_of(problem, columns)) * byte_size(problem.epilogue.target);
  return bytes >= 16 ? 1 : bytes >= 8 ? 1.5 : 4;
}

double operations_at_end(const Epilogue& epilogue) {
  double operations = epilogue.has_residual() ? 18 : 14;
  for (const EpilogueStep& step : epilogue.steps) {
    if (step.text.find("exp") != std::string::npos || step.text.find("erf") != std::string::npos) operations += 12;
    if (step.text.find("near_gelu") != std::string::npos) operations += 8;
  }
  return operations;
}

// Cycles of one multiprocessor in which it moves its share of what is read and written.
double memory_cycles(const Convolution& problem, double store, const Chip& chip) {
  constexpr double bytes_a_cycle = 13.5;
  const int64_t pixels = problem.batch * problem.out_h * problem.out_w * problem.out_pitch;
  double read = bytes_of(problem.batch * problem.in_h * problem.in_w * problem.in_pitch, problem.source);
  if (problem.kernel_h * problem.kernel_w == 1) read /= static_cast<double>(problem.stride_h);
  const double residual = problem.epilogue.has_residual() ? bytes_of(pixels, problem.epilogue.residual) : 0;
  return (read + (bytes_of(pixels, problem.epilogue.target) + residual) * store) / chip.multiprocessors / bytes_a_cycle;
}

}  // namespace

TileWork work_of(const TeamTile& tile, int64_t row_tiles, int64_t column_tiles) {
  TileWork work;
  work.row_tiles = row_tiles;
  work.column_tiles = column_tiles;
  work.rows = tile.tile_rows();
  work.columns = tile.columns;
  work.blocks = tile.blocks;
  return work;
}

double cycles_of(const Convolution& problem, const TileWork& work, const Chip& chip) {
  constexpr double copied_a_cycle = 36, copy_latency = 1600, tile_latency = 800, start = 1000, weights_a_cycle = 80, waves_count = 0.2;
  const double rows = work.rows, columns = work.columns, chips = chip.multiprocessors;
  const double row_tiles = static_cast<double>(work.row_tiles), column_tiles = static_cast<double>(work.column_tiles);
  const double store = store_factor(problem, work.columns);
  // wgmma of 32 bytes of k: as many cycles as half its columns, or as reading both operands takes.
  const double products = work.k_bytes / 32 * rows / 64 * std::max(columns / 2, 16 + columns / 4);
  const double weights = work.k_bytes * columns;
  const double read = work.source_bytes + (work.resident ? 0 : weights);
  const double copies = read / std::min(copied_a_cycle, work.flight_bytes * work.blocks / copy_latency);
  const double ending = rows * columns * operations_at_end(problem.epilogue) / 128 * store;
  const double tiles = row_tiles * column_tiles, busy = std::min<double>(work.blocks, std::ceil(tiles / chips));
  double of_one = std::ceil(tiles / chips / busy) * busy, before = start;  // tiles of one multiprocessor
  if (work.resident) {
    of_one = std::ceil(row_tiles / std::clamp(std::floor(chips * work.blocks / column_tiles), 1.0, row_tiles)) * busy;
    before += weights * busy / weights_a_cycle;
  }
  const double main = std::max(products, copies);
  double computing = of_one * (std::max(main, ending) + (std::min(main, ending) + tile_latency) / busy) + before;
  // One team ends while the other multiplies; only the last end has nothing beside it.
  if (work.turns) computing = of_one * std::max(main, (main + ending + tile_latency) / 2) + ending + tile_latency + before;
  return std::max(computing, memory_cycles(problem, store, chip)) + waves_count * computing;
}

}  // namespace deepgap::gpu
