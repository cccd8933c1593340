#include "engine/gpu/chain.h"

#include "base/rounding.h"
#include "engine/gpu/hopper_text.h"
#include "engine/gpu/inverted_residual.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/tile_epilogue.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap::gpu {
namespace {

constexpr int rows = 64;  // rows of a tile, as in kernels/chain.cuh

bool is_pointwise(const Convolution& p) {
  return p.kernel_h == 1 && p.kernel_w == 1 && p.stride_h == 1 && p.stride_w == 1 && !reads_outside(p) && p.out_h == p.in_h &&
         p.out_w == p.in_w;
}

// Numbers of one size all through: a thread's 16 bytes are then the same pixels' and channels' in each.
bool is_for_kernel(const Convolution& p, ComputeType compute) {
  const size_t size = byte_size(p.source);
  const bool computed = p.compute == ComputeType::i8 || p.compute == ComputeType::f16 || p.compute == ComputeType::bf16;
  return computed && p.compute == compute && p.groups == 1 && !p.pool && byte_size(p.epilogue.target) == size &&
         (!p.epilogue.has_residual() || byte_size(p.epilogue.residual) == size) && p.out_pitch % (16 / static_cast<int64_t>(size)) == 0 &&
         p.in_pitch * static_cast<int64_t>(size) % 16 == 0;
}

bool same_pixels(const Convolution& a, const Convolution& b) {
  return a.batch == b.batch && a.out_h == b.out_h && a.out_w == b.out_w && a.out_h == b.in_h && a.out_w == b.in_w;
}

bool fits_together(const Chain& chain) {
  const Convolution& first = chain.links.front().problem;
  for (size_t i = 0; i < chain.links.size(); ++i) {
    const Convolution& p = chain.links[i].problem;
    if (!is_for_kernel(p, first.compute)) return false;
    if (p.epilogue.has_residual() && &chain.links[i] != &chain.wide()) return false;
    if (i == 0) continue;
    const Convolution& before = chain.links[i - 1].problem;
    if (!is_pointwise(p) || !same_pixels(before, p) || before.epilogue.target != p.source || before.out_pitch != p.in_pitch ||
        before.out_channels != p.in_channels)
      return false;
  }
  if (!chain.branch) return true;
  const Convolution &branch = *chain.branch, &wide = chain.wide().problem;
  return is_for_kernel(branch, first.compute) && is_pointwise(branch) && same_pixels(branch, wide) && !branch.epilogue.has_residual() &&
         wide.epilogue.has_residual() && branch.epilogue.target == wide.epilogue.residual && branch.out_pitch == wide.out_pitch;
}

// Steps of k as wide as wastes little.
ChainPlan::Source source_of(const Convolution& p) {
  ChainPlan::Source source;
  const int64_t bytes = p.in_pitch * bytes_of(p.source);
  for (const int step : {64, 32})
    if (round_up(static_cast<size_t>(bytes), static_cast<size_t>(step)) * 8 <
        round_up(static_cast<size_t>(bytes), static_cast<size_t>(source.step_bytes)) * 7)
      source.step_bytes = step;
  source.steps = static_cast<int>(divide_up(bytes, source.step_bytes));
  source.taps = static_cast<int>(p.kernel_h * p.kernel_w);
  return source;
}

// `rows_of_box` of the image for a tile; plain: 64 pixels.
void set_box(ChainPlan::Source& source, const ChainPlan& plan, const Convolution& p, int64_t box_rows, int64_t reach) {
  const auto elements = static_cast<uint32_t>(source.step_bytes / bytes_of(p.source));
  const int64_t pixels = plan.plain ? rows : box_rows * plan.padded_w;
  if (plan.plain)
    source.box = {elements, rows};
  else
    source.box = {elements, static_cast<uint32_t>(plan.padded_w), static_cast<uint32_t>(box_rows), 1};
  source.box_bytes = static_cast<size_t>(pixels * source.step_bytes);
  source.piece_bytes = round_up(static_cast<size_t>(std::max<int64_t>(pixels, rows + reach) * source.step_bytes), 1024);
}

bool set_tiles(ChainPlan& plan, const Convolution& p) {
  plan.plain = is_pointwise(p);
  const int64_t pixels = p.batch * p.out_h * p.out_w;
  if (pixels < 1 || pixels > INT32_MAX / 2) return false;
  plan.tiles = divide_up(pixels, rows);
  if (plan.plain) {
    plan.padded_w = rows, plan.region_rows = 1, plan.row_regions = 1;
    set_box(plan.source, plan, p, 1, 0);
    return true;
  }
  const int64_t reach_h = (p.kernel_h - 1) * p.dilation_h, reach_w = (p.kernel_w - 1) * p.dilation_w, padded = p.out_w + reach_w;
  const int64_t most = std::min(rows / padded, p.out_h);
  // TMA pads with zeros alone.
  if (p.stride_h != 1 || p.stride_w != 1 || most < 1 || (p.source_zero != 0 && reads_outside(p))) return false;
  plan.padded_w = static_cast<int>(padded);
  plan.region_rows = static_cast<int>(divide_up(p.out_h, divide_up(p.out_h, most)));  // as even as possible
  plan.row_regions = static_cast<int>(divide_up(p.out_h, plan.region_rows));
  plan.tiles = p.batch * plan.row_regions;
  set_box(plan.source, plan, p, plan.region_rows + reach_h, reach_h * padded + reach_w);
  return true;
}

// Sets where each part's weights lie, and how its products are cut.
bool set_parts(ChainPlan& plan, const Chain& chain) {
  const int size = bytes_of(chain.links.front().problem.source), group = chain_group_bytes / size;
  size_t at = 0;
  int table = 0;
  for (const Convolution* p : chain.problems()) {
    ChainPlan::Part part;
    part.columns = static_cast<int>(round_up(static_cast<size_t>(p->out_pitch), static_cast<size_t>(group)));
    const bool in_chunks = p == &chain.wide().problem || (chain.branch && p == &*chain.branch);
    part.product_columns = in_chunks ? plan.tile.chunk_groups * group : part.columns;
    if (part.columns % part.product_columns != 0 || !takes_columns(p->compute, part.product_columns)) return false;
    const bool first = p == &chain.links.front().problem, branch = chain.branch && p == &*chain.branch;
    const ChainPlan::Source& from = branch ? plan.branch : plan.source;
    const size_t k_bytes = first || branch ? static_cast<size_t>(from.steps * from.taps * from.step_bytes)
                                           : round_up(static_cast<size_t>(p->in_pitch * size), chain_group_bytes);
    part.weights_at = at;
    part.weight_bytes = k_bytes * static_cast<size_t>(part.columns);
    part.chunk_bytes = in_chunks ? k_bytes * static_cast<size_t>(part.product_columns)
                                 : static_cast<size_t>(plan.tile.chunk_groups * chain_group_bytes) * static_cast<size_t>(part.columns);
    part.table = table;
    at += round_up(part.weight_bytes, 1024);
    table += 2 * part.columns;
    plan.parts.push_back(part);
  }
  plan.weight_bytes = at;
  return true;
}

// Sets how many bytes of weights stay in shared memory, and how large a stage is of those that do not: it takes a chunk of the wide one's
// (and of the branch's), or of the tail's. Returns false if the chain has other parts.
bool set_weight_stages(ChainPlan& plan, const Chain& chain) {
  plan.kept_weight_bytes = plan.weight_bytes;
  if (plan.tile.weight_stages == 0) return true;
  if (chain.head() != nullptr || chain.tail() == nullptr) return false;
  const auto& parts = plan.parts;
  plan.kept_weight_bytes = 0;
  plan.weight_stage_bytes = std::max(parts[0].chunk_bytes + (chain.branch ? parts[2].chunk_bytes : 0), parts[1].chunk_bytes);
  return true;
}

void set_shared_memory(ChainPlan& plan, const Chain& chain) {
  const Convolution& wide = chain.wide().problem;
  const ChainTile& tile = plan.tile;
  plan.source_stage_bytes = static_cast<size_t>(plan.source.steps) * plan.source.piece_bytes;
  if (chain.branch)
    plan.added_stage_bytes = static_cast<size_t>(plan.branch.steps) * plan.branch.piece_bytes;
  else if (wide.epilogue.has_residual()) {
    plan.added_stage_bytes = rows * chain_group_bytes;
    plan.added_box_bytes = static_cast<size_t>(plan.plain ? rows : plan.region_rows * wide.out_w) * chain_group_bytes;
  }
  plan.teams_at = plan.kept_weight_bytes + static_cast<size_t>(tile.weight_stages) * plan.weight_stage_bytes;
  const size_t of_team =
      static_cast<size_t>(tile.source_stages) * plan.source_stage_bytes + static_cast<size_t>(tile.added_stages) * plan.added_stage_bytes;
  plan.tables_at = plan.teams_at + static_cast<size_t>(tile.teams) * of_team;
  plan.barriers_at = plan.tables_at + sizeof(float) * static_cast<size_t>(plan.parts.back().table + 2 * plan.parts.back().columns);
  const int stages = tile.teams * (tile.source_stages + tile.added_stages) + tile.weight_stages;
  plan.shared_bytes = 1024 + plan.barriers_at + 8 + static_cast<size_t>(2 * stages) * 8;
}

int team_registers(const ChainTile& tile) { return TeamTile{.teams = tile.teams, .blocks = tile.blocks}.team_registers(); }

// Returns the registers that a thread that multiplies holds at once.
int wanted_registers(const Chain& chain, const ChainPlan& plan) {
  constexpr int besides = 48;
  const auto& parts = plan.parts;
  const size_t wide = chain.head() != nullptr ? 1 : 0;
  int wanted = besides + parts[wide].product_columns / 2 * (chain.branch ? 2 : 1) + 8 * plan.tile.chunk_groups;
  if (chain.tail() != nullptr) wanted += parts[wide + 1].columns / 2;
  if (chain.head() != nullptr)
    wanted += static_cast<int>(round_up(static_cast<size_t>(chain.head()->problem.out_pitch * bytes_of(chain.head()->problem.source)),
                                        chain_group_bytes)) /
              8;
  return wanted;
}

size_t shared_room(const ChainTile& tile, const Chip& chip) {
  constexpr size_t of_system = 1 << 10;
  return std::min(chip.shared_bytes, (chip.shared_bytes + of_system) / static_cast<size_t>(tile.blocks) - of_system);
}

// Stages of what is added, as deep as shared memory allows; false: it does not.
bool give_stages(const Chain& chain, ChainTile& tile, const Chip& chip) {
  const size_t room = shared_room(tile, chip);
  const bool adds = chain.wide().problem.epilogue.has_residual();
  for (const int added : {12, 10, 8, 7, 6, 5, 4, 3, 2}) {
    tile.added_stages = !adds ? 0 : chain.branch ? std::min(added, 2) : added;
    const auto plan = plan_of(chain, tile);
    if (plan && plan->shared_bytes <= room) return true;
  }
  return false;
}

// Likewise, of a chain whose weights come through a ring: `least` stages of weights, or more where there is room.
bool give_weight_stages(const Chain& chain, ChainTile& tile, int least, const Chip& chip) {
  const bool adds = chain.wide().problem.epilogue.has_residual();
  const size_t room = shared_room(tile, chip);
  for (const int added : {6, 4, 3, 2}) {
    tile.added_stages = !adds ? 0 : chain.branch ? std::min(added, 2) : added;
    for (tile.weight_stages = 8; tile.weight_stages >= least; --tile.weight_stages) {
      const auto plan = plan_of(chain, tile);
      if (plan && plan->shared_bytes <= room) return true;
    }
  }
  return false;
}

TensorMapArgument pixel_map(const ChainPlan& plan, const ChainPlan::Source& source, const Convolution& p, int role) {
  const uint64_t size = byte_size(p.source);
  const auto pitch = static_cast<uint64_t>(p.in_pitch), width = static_cast<uint64_t>(p.in_w), height = static_cast<uint64_t>(p.in_h),
             images = static_cast<uint64_t>(p.batch);
  TensorMapArgument map;
  map.role = role;
  map.element = p.source;
  map.sizes = plan.plain ? std::vector<uint64_t>{pitch, images * height * width} : std::vector<uint64_t>{pitch, width, height, images};
  map.strides = plan.plain ? std::vector<uint64_t>{pitch * size}
                           : std::vector<uint64_t>{pitch * size, width * pitch * size, height * width * pitch * size};
  map.box = source.box;
  map.swizzle_bytes = source.step_bytes;
  return map;
}

Argument added_map(const Chain& chain, const ChainPlan& plan) {
  if (chain.branch) return pixel_map(plan, plan.branch, *chain.branch, chain_added);
  const Convolution& wide = chain.wide().problem;
  if (!wide.epilogue.has_residual()) return pixel_map(plan, plan.source, chain.links.front().problem, chain_source);  // read by nobody
  const uint64_t size = byte_size(wide.epilogue.residual);
  TensorMapArgument map;
  map.role = chain_added;
  map.element = wide.epilogue.residual;
  map.sizes = {static_cast<uint64_t>(wide.out_pitch), static_cast<uint64_t>(wide.batch * wide.out_h * wide.out_w)};
  map.strides = {static_cast<uint64_t>(wide.out_pitch) * size};
  map.box = {static_cast<uint32_t>(chain_group_bytes / size), static_cast<uint32_t>(plan.added_box_bytes / chain_group_bytes)};
  return map;
}

}  // namespace

size_t Chain::wide_index() const {
  if (links.size() == 3) return 1;
  if (links[0].problem.epilogue.has_residual()) return 0;
  return is_pointwise(links[0].problem) && links[0].problem.out_channels >= links[1].problem.out_channels &&
                 !links[1].problem.epilogue.has_residual()
             ? 0
             : 1;
}
const Chain::Link* Chain::head() const { return wide_index() == 1 ? &links[0] : nullptr; }
const Chain::Link& Chain::wide() const { return links[wide_index()]; }
const Chain::Link* Chain::tail() const { return wide_index() + 1 < links.size() ? &links.back() : nullptr; }

const Convolution& Chain::adding() const {
  const auto found = std::find_if(links.begin(), links.end(), [](const Link& link) { return link.problem.epilogue.has_residual(); });
  return found == links.end() ? wide().problem : found->problem;
}

std::vector<const Convolution*> Chain::problems() const {
  std::vector<const Convolution*> all;
  for (const Link& link : links) all.push_back(&link.problem);
  if (branch) all.push_back(&*branch);
  return all;
}

std::string Chain::key() const { return fmt::format("{}{}{}", key_before_batch(), links[0].problem.batch, key_behind_batch()); }
std::string Chain::key_before_batch() const { return "chain " + links[0].problem.key_before_batch(); }
std::string Chain::key_behind_batch() const {
  std::string key;
  for (size_t i = 0; i < links.size(); ++i)
    key += fmt::format("{}{}{}", i == 0 ? "" : " >", links[i].problem.key_behind_batch(), links[i].stored ? "" : " unstored");
  return branch ? key + " +" + branch->key_behind_batch() : key;
}

std::optional<ChainPlan> plan_of(const Chain& chain, const ChainTile& tile) {
  if (!fits_together(chain)) return std::nullopt;
  ChainPlan plan;
  plan.tile = tile;
  const Convolution& first = chain.links.front().problem;
  plan.source = source_of(first);
  if (!set_tiles(plan, first)) return std::nullopt;
  if (!plan.plain && chain.head() == nullptr) return std::nullopt;
  if (chain.branch) {
    plan.branch = source_of(*chain.branch);
    set_box(plan.branch, plan, *chain.branch, plan.region_rows, 0);
  }
  if (!set_parts(plan, chain) || !set_weight_stages(plan, chain)) return std::nullopt;
  set_shared_memory(plan, chain);
  return plan;
}

ChainVariant variant_of(const Chain& chain, const ChainTile& tile, const Chip& chip) {
  const ChainPlan plan = plan_of(chain, tile).value();
  ChainVariant variant;
  variant.name =
      fmt::format("chain t{} b{} c{} s{} a{}", tile.teams, tile.blocks, tile.chunk_groups, tile.source_stages, tile.added_stages);
  if (tile.weight_stages > 0) variant.name += fmt::format(" w{}", tile.weight_stages);
  variant.tile = tile;
  variant.pack = pack_chain;
  variant.packed_bytes = plan.weight_bytes;
  Launch& launch = variant.launch;
  launch.entry = "chain";
  launch.source = chain_text(chain, plan);
  const int64_t blocks = divide_up(plan.tiles, tile.teams), at_once = static_cast<int64_t>(chip.multiprocessors) * tile.blocks;
  launch.grid = {static_cast<unsigned>(std::min(blocks, at_once)), 1, 1};
  launch.block = {static_cast<unsigned>(128 * (tile.teams + 1)), 1, 1};
  launch.shared_bytes = plan.shared_bytes;
  launch.overlaps_previous = true;
  launch.arguments = {pixel_map(plan, plan.source, chain.links.front().problem, chain_source), added_map(chain, plan),
                      BufferArgument{chain_weights}, BufferArgument{chain_scale_bias}};
  const int before_wide = chain.head() != nullptr ? 1 : 0;  // the kernel's arguments are those of head, wide and tail
  for (const int link : {before_wide == 1 ? 0 : 2, before_wide, before_wide + 1})
    launch.arguments.emplace_back(BufferArgument{chain_targets + link});
  return variant;
}

namespace {

// Adds those whose weights come through a ring, if they would fill most of shared memory. A warp of the fourth warpgroup brings them.
void add_with_weight_stages(const Chain& chain, const Chip& chip, std::vector<ChainVariant>& variants) {
  if (chain.head() != nullptr || chain.tail() == nullptr) return;
  if (const auto kept = plan_of(chain, ChainTile{}); kept && kept->weight_bytes * 2 <= chip.shared_bytes) return;
  for (const auto& [teams, groups] : {std::array{3, 2}, {2, 2}, {3, 1}, {2, 1}})
    for (const int sources : {2, 1}) {
      ChainTile tile{.teams = teams, .chunk_groups = groups, .source_stages = sources, .weight_stages = 2};
      const auto plan = plan_of(chain, tile);
      if (!plan || wanted_registers(chain, *plan) > team_registers(tile)) continue;
      if (give_weight_stages(chain, tile, 4, chip) || give_weight_stages(chain, tile, 3, chip))
        variants.push_back(variant_of(chain, tile, chip));
    }
}

}  // namespace

std::vector<ChainVariant> chain_variants(const Chain& chain, const Chip& chip) {
  if (is_inverted_residual(chain)) return inverted_residual_variants(chain, chip);
  std::vector<ChainVariant> variants;
  if (chip.architecture != 90) return variants;
  for (const auto& [teams, blocks, groups] : {std::array{3, 1, 1}, {2, 1, 2}, {2, 1, 1}, {3, 1, 2}, {4, 1, 1}, {2, 2, 1}, {1, 2, 2}})
    for (const int sources : {2, 1}) {
      if (sources == 1 && chain.head() == nullptr) break;  // freed at a tile's end: nothing would be on its way
      ChainTile tile{.teams = teams, .blocks = blocks, .chunk_groups = groups, .source_stages = sources};
      const auto plan = plan_of(chain, tile);
      if (plan && wanted_registers(chain, *plan) <= team_registers(tile) && give_stages(chain, tile, chip))
        variants.push_back(variant_of(chain, tile, chip));
    }
  add_with_weight_stages(chain, chip, variants);
  return variants;
}

}  // namespace deepgap::gpu
