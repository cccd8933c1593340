// Attention on Hopper: each warpgroup ("team") has 64 queries of a head. TMA brings the head's keys and values, a tile of keys
// at a time; a team multiplies its queries with a tile (wgmma), keeps a softmax that is corrected as larger scores come, and multiplies the
// weights, out of its registers, with the tile's values while the next tile's scores are begun. A block takes heads in turns where there
// are more than places for blocks; the tiles of all its heads go through one ring of stages, so that the next head's come meanwhile.
#include "base/rounding.h"
#include "engine/gpu/attention.h"
#include "engine/gpu/hopper_text.h"
#include "engine/gpu/kernel_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace deepgap::gpu {
namespace {

constexpr int64_t piece = 64;  // columns that one copy brings: 128 bytes, as far as the permutation goes

struct Tiles {
  int teams = 2, blocks = 2;  // blocks: on one multiprocessor at once
  int pieces = 1;             // pieces of a row
  int query_buffers = 1;      // two: queries of the next unit come while this one is computed
  int64_t keys = 64, last = 64, count = 1;
  int64_t stages = 1;  // tiles of keys and values that are on their way or in use
  size_t tile_bytes() const { return static_cast<size_t>(keys * pieces) * 128; }
  size_t query_bytes() const { return static_cast<size_t>(teams * pieces) * 64 * 128; }
  size_t shared_bytes() const {
    const auto buffers = static_cast<size_t>(query_buffers), places = static_cast<size_t>(stages);
    return 1024 + buffers * (query_bytes() + 8) + places * 2 * (tile_bytes() + 8);
  }
};

// A unit is what a block computes at a time: the queries that its teams hold, of one head.
int64_t query_blocks_of(const Attention& a, const Tiles& tiles) { return divide_up(a.queries, int64_t{64} * tiles.teams); }
int64_t units_of(const Attention& a, const Tiles& tiles) { return query_blocks_of(a, tiles) * a.heads * a.batch; }

// Tiles of equal size but for the last one; as many stages as there is room for, up to those of two heads.
Tiles tiles_of(const Attention& a, const Chip& chip) {
  constexpr size_t of_system = 1 << 10;
  Tiles tiles;
  tiles.pieces = static_cast<int>(a.depth / piece);
  const int most_teams = tiles.pieces == 1 ? 2 : 3;
  tiles.teams = static_cast<int>(std::clamp<int64_t>(divide_up(a.queries, 64), 1, most_teams));
  tiles.blocks = tiles.pieces == 1 ? 4 / tiles.teams : 1;
  const int64_t most_keys = tiles.pieces == 1 ? 80 : 64, padded = divide_up(a.keys, 16) * 16;
  tiles.count = divide_up(padded, most_keys);
  tiles.keys = divide_up(divide_up(padded, tiles.count), 16) * 16;
  tiles.count = divide_up(padded, tiles.keys);
  tiles.last = padded - tiles.keys * (tiles.count - 1);
  const size_t room = std::min(chip.shared_bytes, (chip.shared_bytes + of_system) / static_cast<size_t>(tiles.blocks) - of_system);
  const int64_t units = units_of(a, tiles), rounds = divide_up(units, int64_t{chip.multiprocessors} * tiles.blocks);
  tiles.query_buffers = rounds > 1 ? 2 : 1;
  for (tiles.stages = tiles.count * tiles.query_buffers; tiles.stages > 2 && tiles.shared_bytes() > room;) --tiles.stages;
  return tiles;
}

// TMA wants each step to be a multiple of the one before it, and of 16 bytes.
bool heads_come_first(const Attention& a, const std::array<int64_t, 4>& steps, size_t row_axis) {
  return a.heads > 1 && steps[1] < steps[row_axis];
}

TensorMapArgument map_of(const AttentionLayout& layout, int role, int64_t rows, const std::array<int64_t, 4>& steps, size_t row_axis,
                         uint32_t box_rows) {
  const Attention& a = layout.attention;
  struct Axis {
    int64_t size, step;
    uint32_t box;
  };
  std::array<Axis, 3> axes{{{rows, steps[row_axis], box_rows}, {a.heads, steps[1], 1}, {a.batch, steps[0], 1}}};
  if (heads_come_first(a, steps, row_axis)) std::swap(axes[0], axes[1]);
  TensorMapArgument map;
  map.role = role;
  map.element = layout.element;
  map.sizes = {static_cast<uint64_t>(a.depth)};
  map.box = {static_cast<uint32_t>(piece)};
  auto before = static_cast<uint64_t>(2 * a.depth);  // bytes
  for (const Axis& axis : axes) {
    if (axis.size > 1) before = static_cast<uint64_t>(2 * axis.step);
    map.sizes.push_back(static_cast<uint64_t>(axis.size));
    map.strides.push_back(before);
    map.box.push_back(axis.box);
  }
  map.swizzle_bytes = 128;
  map.offset_bytes = 2 * layout.first[static_cast<size_t>(role)];
  return map;
}

// TMA goes forward, and never stays.
bool has_steps(int64_t step, int64_t size) { return size == 1 || step > 0; }

bool fits_copy_engine(const AttentionLayout& layout) {
  const Attention& a = layout.attention;
  const auto each = [&](const std::array<int64_t, 4>& steps, size_t row_axis, int64_t rows) {
    return has_steps(steps[0], a.batch) && has_steps(steps[1], a.heads) && has_steps(steps[row_axis], rows);
  };
  return each(a.query.steps, 2, a.queries) && each(a.key.steps, 3, a.keys) && each(a.value.steps, 2, a.keys);
}

std::string source_of(const AttentionLayout& layout, const Tiles& tiles, int64_t blocks, const std::string& mask_text,
                      const std::string& entry) {
  const Attention& a = layout.attention;
  const bool half = layout.element == Element::f16;
  Convolution problem;  // as products_text needs it, which reads what is multiplied
  problem.compute = half ? ComputeType::f16 : ComputeType::bf16;
  problem.source = layout.element;
  std::string source(kernel_prelude());
  source += hopper_prelude();
  source += fmt::format(
      "typedef float Sum;\n#define QUERIES {}\n#define KEYS {}\n#define PIECES {}\n#define TEAMS {}\n#define BLOCKS {}\n#define TILE "
      "{}\n#define LAST_TILE {}\n#define TILES {}\n#define STAGES {}\n#define HALF {}\n#define ENTRY {}\n",
      a.queries, a.keys, tiles.pieces, tiles.teams, tiles.blocks, tiles.keys, tiles.last, tiles.count, tiles.stages, half ? "F16" : "BF16",
      entry);
  source += fmt::format("#define QUERY_BUFFERS {}\n#define QUERY_BLOCKS {}\n#define HEADS {}\n#define UNITS {}\n#define BLOCKS_IN_ALL {}\n",
                        tiles.query_buffers, query_blocks_of(a, tiles), a.heads, units_of(a, tiles), blocks);
  const auto flag = [](char name, bool value) { return fmt::format("#define HEADS_FIRST_{} {}\n", name, value); };
  source += flag('Q', heads_come_first(a, a.query.steps, 2)) + flag('K', heads_come_first(a, a.key.steps, 3)) +
            flag('V', heads_come_first(a, a.value.steps, 2));
  source += attention_steps_text(a) + mask_text;
  source += kernel_file("attention_softmax");
  source += product_text(problem, static_cast<int>(tiles.keys));
  if (tiles.last != tiles.keys) source += product_text(problem, static_cast<int>(tiles.last));
  source += turned_product_text(problem, static_cast<int>(piece));
  return source + kernel_file("hopper_attention");
}

}  // namespace

std::optional<Launch> hopper_attention(const AttentionLayout& layout, const std::string& mask_text, const std::string& entry,
                                       const Chip& chip) {
  const Attention& a = layout.attention;
  if (chip.architecture != 90 || a.depth != a.columns || (a.depth != piece && a.depth != 2 * piece)) return std::nullopt;
  if (!wide_operands(layout).all() || !fits_copy_engine(layout)) return std::nullopt;
  const Tiles tiles = tiles_of(a, chip);
  if (tiles.shared_bytes() > chip.shared_bytes) return std::nullopt;
  Launch launch;
  launch.entry = entry;
  const int64_t units = units_of(a, tiles), blocks = std::min(units, int64_t{chip.multiprocessors} * tiles.blocks);
  if (units * tiles.count >= int64_t{1} << 30) return std::nullopt;
  launch.source = source_of(layout, tiles, blocks, mask_text, entry);
  launch.block = {static_cast<unsigned>(128 * tiles.teams), 1, 1};
  launch.grid = {static_cast<unsigned>(blocks), 1, 1};
  launch.shared_bytes = tiles.shared_bytes();
  launch.overlaps_previous = true;
  const auto rows_of_tile = static_cast<uint32_t>(tiles.keys);
  launch.arguments = {map_of(layout, 0, a.queries, a.query.steps, 2, static_cast<uint32_t>(64 * tiles.teams)),
                      map_of(layout, 1, a.keys, a.key.steps, 3, rows_of_tile), map_of(layout, 2, a.keys, a.value.steps, 2, rows_of_tile)};
  for (int role = 3; role < (a.mask ? 5 : 4); ++role) launch.arguments.emplace_back(BufferArgument{role});
  return launch;
}

}  // namespace deepgap::gpu
