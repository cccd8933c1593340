// The text of kernels/chain.cuh for one chain: its parts as namespaces, and its numbers.
#include "engine/gpu/chain.h"
#include "engine/gpu/hopper_text.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/tile_epilogue.h"

#include <fmt/format.h>

namespace deepgap::gpu {
namespace {

// For four neighbours, part `part` of a thread's run in `group` of the columns whose scales begin at `table`, in two rows eight apart: what
// end_value makes of them. `sum_at(i)`: the thread's sum i, as wgmma has them; `added`: of the residual. Hopper converts integers in one
// instruction, where value_of takes two.
constexpr std::string_view end_text = R"(
template <typename SumAt>
__device__ __forceinline__ void end_part(float (&values)[2][4], const float* table, int group, int part, const SumAt& sum_at, const float (&added)[2][4]) {
  float scale[4], bias[4];
  const int place = group * 4 * run + part * 16 + threadIdx.x % 4 * 4;
  if (has_scale) load_floats<4>(table + place, scale);
  load_floats<4>(table + columns + place, bias);
#pragma unroll
  for (int half = 0; half < 2; half++)
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int of_run = part * 4 + i, sum = (group * (run / 2) + of_run / 2) * 4 + half * 2 + of_run % 2;
      values[half][i] = end_value((float)sum_at(sum), has_scale ? scale[i] : 1.0f, bias[i], has_residual ? added[half][i] : 0.0f);
    }
}
// What a thread stores of the group. `add(part, added)` gives what end_part adds.
template <typename SumAt, typename Add>
__device__ __forceinline__ void end_words(unsigned (&words)[2][4], const float* table, int group, const SumAt& sum_at, const Add& add) {
#pragma unroll
  for (int part = 0; part < run / 4; part++) {
    float added[2][4], values[2][4];
    add(part, added);
    end_part(values, table, group, part, sum_at, added);
    put_values(words[0] + part * Target::bytes, values[0]);
    put_values(words[1] + part * Target::bytes, values[1]);
  }
}
)";

struct Named {
  std::string_view name;
  const Convolution* problem = nullptr;
  const ChainPlan::Part* part = nullptr;
  bool stored = false;
};

// All four, those that are missing without a problem.
std::vector<Named> named_parts(const Chain& chain, const ChainPlan& plan) {
  size_t next = 0;
  const auto of = [&](std::string_view name, const Chain::Link* link) {
    return link == nullptr ? Named{name} : Named{name, &link->problem, &plan.parts[next++], link->stored};
  };
  std::vector<Named> parts{of("head", chain.head()), of("wide", &chain.wide()), of("tail", chain.tail())};
  parts.push_back(chain.branch ? Named{"branch", &*chain.branch, &plan.parts[next], false} : Named{"branch"});
  return parts;
}

std::string part_text(const Named& named) {
  const Convolution& p = *named.problem;
  return fmt::format("namespace {} {{\n{}{}static const int columns = {}, run = {}, table_share = {};\n{}{}{}}}\n", named.name,
                     epilogue_text(p), shape_text(p), named.part->columns, 16 / byte_size(p.source), (named.part->columns + 127) / 128,
                     product_text(p, named.part->product_columns), tile_epilogue_text(), end_text);
}

std::string source_text(std::string_view name, const ChainPlan::Source& source, size_t size) {
  return fmt::format(
      "static const int {0}_steps = {1}, {0}_step_bytes = {2}, {0}_step_elements = {3}, {0}_piece_bytes = {4}, {0}_box_bytes = {5};\n",
      name, source.steps, source.step_bytes, static_cast<size_t>(source.step_bytes) / size, source.piece_bytes, source.box_bytes);
}

std::string constants_text(const Chain& chain, const ChainPlan& plan, const std::vector<Named>& parts) {
  const TeamTile team{.teams = plan.tile.teams, .blocks = plan.tile.blocks};
  const size_t size = byte_size(chain.links.front().problem.source);
  std::string text = fmt::format("namespace first = {};\n", chain.head() != nullptr ? "head" : "wide");
  for (const Named& each : parts)
    text += each.part == nullptr
                ? fmt::format("static const int {0}_columns = 0, {0}_chunk_bytes = 0;\n", each.name)
                : fmt::format(
                      "static const int {0}_columns = {1}, {0}_weights_at = {2}, {0}_table = {3}, {0}_chunk_bytes = {4};\n"
                      "static const bool {0}_stored = {5};\n",
                      each.name, each.part->columns, each.part->weights_at, each.part->table, each.part->chunk_bytes, each.stored);
  text += source_text("source", plan.source, size) + source_text("branch", plan.branch, size);
  text += fmt::format(
      "static const bool plain = {};\nstatic const int taps = {}, padded_w = {}, region_rows = {}, row_regions = {}, tiles = {};\n",
      plan.plain, plan.source.taps, plan.padded_w, plan.region_rows, plan.row_regions, plan.tiles);
  text += fmt::format(
      "static const int teams = {}, blocks = {}, chunk_groups = {}, source_stages = {}, added_stages = {}, producer_registers = {}, "
      "team_registers = {}, group_columns = {};\n",
      plan.tile.teams, plan.tile.blocks, plan.tile.chunk_groups, plan.tile.source_stages, plan.tile.added_stages, team.producer_registers(),
      team.team_registers(), 64 / size);
  return text + fmt::format(
                    "static const int kept_weight_bytes = {}, weight_stages = {}, weight_stage_bytes = {}, source_stage_bytes = {}, "
                    "added_box_bytes = {}, added_stage_bytes = {}, teams_at = {}, "
                    "tables_at = {}, barriers_at = {};\n",
                    plan.kept_weight_bytes, plan.tile.weight_stages, plan.weight_stage_bytes, plan.source_stage_bytes, plan.added_box_bytes,
                    plan.added_stage_bytes, plan.teams_at, plan.tables_at, plan.barriers_at);
}

// Fills, with one warpgroup, each part's scales and biases, which lie one after the other.
std::string tables_text(const std::vector<Named>& parts) {
  std::string text = "__device__ __forceinline__ void fill_tables(float* tables, const float* scale_bias) {\n";
  int64_t from = 0;
  for (const Named& each : parts) {
    if (each.part == nullptr) continue;
    text += fmt::format("  {{ {0}::Table own; own.load(scale_bias + {1}, 0); own.store(tables + {0}_table); }}\n", each.name, from);
    from += 2 * each.problem->out_pitch;
  }
  return text + "}\n";
}

}  // namespace

std::string chain_text(const Chain& chain, const ChainPlan& plan) {
  const std::vector<Named> parts = named_parts(chain, plan);
  const bool residual = chain.wide().problem.epilogue.has_residual() && !chain.branch;
  std::string text = fmt::format("#define HAS_HEAD {:d}\n#define HAS_TAIL {:d}\n#define HAS_BRANCH {:d}\n#define HAS_RESIDUAL {:d}\n",
                                 chain.head() != nullptr, chain.tail() != nullptr, chain.branch.has_value(), residual);
  text += kernel_prelude();
  text += hopper_prelude();
  for (const Named& each : parts)
    if (each.part != nullptr) text += part_text(each);
  text += constants_text(chain, plan, parts) + tables_text(parts);
  text += kernel_file("chain");
  return text + "#undef HAS_HEAD\n#undef HAS_TAIL\n#undef HAS_BRANCH\n#undef HAS_RESIDUAL\n";
}

}  // namespace deepgap::gpu
