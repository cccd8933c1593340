#include "engine/gpu/inverted_residual.h"

#include "base/rounding.h"
#include "engine/gpu/kernel_text.h"
#include "model/eval/half.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

namespace deepgap::gpu {
namespace {

constexpr int element_bytes = 2;
constexpr size_t base_alignment = 128;

struct Parts {
  const Convolution* expand = nullptr;  // may be missing
  const Convolution* depthwise = nullptr;
  const Convolution* project = nullptr;

  explicit Parts(const Chain& chain) {
    const size_t links = chain.links.size();
    if (links == 3) expand = &chain.links[0].problem;
    depthwise = &chain.links[links - 2].problem;
    project = &chain.links[links - 1].problem;
  }
  int64_t source_pitch() const { return expand != nullptr ? expand->in_pitch : depthwise->in_pitch; }
};

bool is_of_halves(const Convolution& p) {
  const Element element = p.compute == ComputeType::f16 ? Element::f16 : Element::bf16;
  return (p.compute == ComputeType::f16 || p.compute == ComputeType::bf16) && p.source == element && p.epilogue.target == element &&
         (!p.epilogue.has_residual() || p.epilogue.residual == element) && p.in_pitch % 8 == 0 && p.out_pitch % 8 == 0 && !p.pool;
}

bool is_plain_product(const Convolution& p) {
  return p.kernel_h == 1 && p.kernel_w == 1 && p.stride_h == 1 && p.stride_w == 1 && p.pad_top == 0 && p.pad_left == 0 && p.groups == 1 &&
         p.in_h == p.out_h && p.in_w == p.out_w;
}

bool is_depthwise(const Convolution& p) {
  constexpr int64_t most_places = 25;
  return p.groups > 1 && p.groups == p.in_channels && p.groups == p.out_channels && p.in_pitch == p.out_pitch && p.dilation_h == 1 &&
         p.dilation_w == 1 && p.kernel_h * p.kernel_w <= most_places && !p.epilogue.has_residual();
}

bool follows(const Convolution& next, const Convolution& p) {
  return next.compute == p.compute && next.batch == p.batch && next.in_h == p.out_h && next.in_w == p.out_w &&
         next.in_channels == p.out_channels && next.in_pitch == p.out_pitch;
}

// The plan for a chain under a tile.
struct Plan {
  int source_steps = 0;                                     // steps of 16 channels that the first product sums over
  int source_stride = 0, chunk_stride = 0, out_stride = 0;  // bytes between rows in shared memory
  int chunks = 0, warps_m = 1, own_rows = 1, out_columns = 0;
  int project_at = 0, depthwise_at = 0, weight_bytes = 0, biases_at = 0, part_bytes = 0;  // places and sizes in a chunk's weights
  int wide_at = 0, source_at = 0, convolved_at = 0, weights_at = 0;                       // in shared memory
  size_t shared_bytes = 0;
  int region = 0, pixels = 0;
  int registers = 0;  // registers that a thread wants
};

// The rows of a tile are shared by as many warps as they have rows of 16 for, the columns by the others.
void set_last_product(Plan& plan, const Convolution& project, const InvertedTile& tile) {
  while (plan.warps_m * 2 <= tile.warps && plan.warps_m * 16 < plan.pixels) plan.warps_m *= 2;
  plan.out_columns = round_up(project.out_pitch, 16 * (tile.warps / plan.warps_m));
  plan.own_rows = static_cast<int>(divide_up(plan.pixels, 16 * plan.warps_m));
}

Plan plan_of(const Chain& chain, const InvertedTile& tile) {
  const Parts parts(chain);
  const Convolution& depthwise = *parts.depthwise;
  Plan plan;
  plan.region =
      static_cast<int>(((tile.h - 1) * depthwise.stride_h + depthwise.kernel_h) * ((tile.w - 1) * depthwise.stride_w + depthwise.kernel_w));
  plan.pixels = tile.h * tile.w;
  plan.source_steps = parts.expand != nullptr ? static_cast<int>(divide_up(parts.source_pitch(), 16)) : 0;
  plan.source_stride = plan.source_steps * 32 + 16;
  plan.chunk_stride = tile.chunk * element_bytes + 16;
  plan.chunks = static_cast<int>(divide_up(depthwise.out_pitch, tile.chunk));
  set_last_product(plan, *parts.project, tile);
  plan.out_stride = plan.out_columns * element_bytes + 16;
  plan.project_at = parts.expand != nullptr ? tile.chunk * plan.source_stride : 0;
  plan.depthwise_at = plan.project_at + plan.out_columns * plan.chunk_stride;
  plan.weight_bytes = plan.depthwise_at + static_cast<int>(depthwise.kernel_h * depthwise.kernel_w) * tile.chunk * 4;
  plan.biases_at = plan.weight_bytes;
  plan.part_bytes = plan.biases_at + 2 * tile.chunk * 4;
  // The result is gathered where wide image and source were.
  plan.source_at = round_up(plan.region, 16) * plan.chunk_stride;
  plan.convolved_at = std::max(plan.source_at + (parts.expand != nullptr ? round_up(plan.region, 16) * plan.source_stride : 0),
                               plan.pixels * plan.out_stride);
  plan.weights_at = plan.convolved_at + plan.own_rows * plan.warps_m * 16 * plan.chunk_stride;
  plan.shared_bytes =
      base_alignment + static_cast<size_t>(plan.weights_at) + static_cast<size_t>(std::min(plan.chunks, 2) * plan.part_bytes);
  constexpr int besides = 36;
  const int columns_in = static_cast<int>((tile.patch_w - 1) * depthwise.stride_w + depthwise.kernel_w);
  const int kept_weights = depthwise.kernel_h * depthwise.kernel_w <= 9 ? 18 : 10;
  plan.registers = besides + plan.own_rows * plan.out_columns / (tile.warps / plan.warps_m) / 2 +
                   std::max(2 * tile.patch_h * tile.patch_w + 2 * columns_in + kept_weights,
                            tile.chunk * 3 / 4 + 24 + (plan.source_steps * tile.chunk <= 96 ? plan.source_steps * tile.chunk / 4 : 0));
  return plan;
}

size_t room_of_block(const Chip& chip, int blocks) {
  constexpr size_t of_system = 1 << 10;
  return std::min(chip.shared_bytes, (chip.shared_bytes + of_system) / static_cast<size_t>(blocks) - of_system);
}

// Returns as many blocks as registers and shared memory allow; 0: not even one.
int blocks_of(const Plan& plan, const InvertedTile& tile, const Chip& chip) {
  for (int blocks = std::min(8, 48 / tile.warps); blocks > 0; --blocks)
    if (plan.registers <= std::min(255, 65536 / (32 * tile.warps * blocks) / 8 * 8) && plan.shared_bytes <= room_of_block(chip, blocks))
      return blocks;
  return 0;
}

int64_t tiles_of(const Convolution& project, const InvertedTile& tile) {
  return project.batch * divide_up(project.out_h, tile.h) * divide_up(project.out_w, tile.w);
}

// Instructions that an image takes, roughly: what hangs over, the region's border and idle threads count.
double cost_of(const Chain& chain, const InvertedTile& tile) {
  const Parts parts(chain);
  const Plan plan = plan_of(chain, tile);
  const int items = tile.h / tile.patch_h * (tile.w / tile.patch_w) * tile.chunk / 2, threads = 32 * tile.warps;
  const double idle = static_cast<double>(round_up(items, threads)) / items;
  const auto places = static_cast<double>(parts.depthwise->kernel_h * parts.depthwise->kernel_w);
  const double of_source = (parts.expand != nullptr ? 8.0 : 1.0) * plan.region, of_convolved = (8 + 3 * places) * plan.pixels * idle;
  const int warps = tile.blocks * tile.warps;
  const double unhidden = warps < 16 ? 1 + (16 - warps) / 32.0 : 1;
  return static_cast<double>(tiles_of(*parts.project, tile)) * plan.chunks * tile.chunk * (of_source + of_convolved) * unhidden;
}

// A bound as both halves of a word; nullopt: the element does not hold it.
std::optional<uint32_t> bound_word(Element element, float bound) {
  const uint32_t bits = element == Element::f16 ? to_half(bound).bits : to_bfloat16(bound).bits;
  const float held = element == Element::f16 ? to_float(to_half(bound)) : to_float(to_bfloat16(bound));
  return held == bound ? std::optional(bits << 16 | bits) : std::nullopt;
}

// Sums of a layer that only clamps begin with the bias, and are clamped two at a time once they are rounded, which gives the same.
std::string pair_text(const Convolution& p) {
  const auto& steps = p.epilogue.steps;
  if (steps.size() == 1 && steps[0].kind == EpilogueStep::Kind::clamp)
    if (const auto low = bound_word(p.source, steps[0].low), high = bound_word(p.source, steps[0].high); low && high)
      return fmt::format(
          "__device__ __forceinline__ float first_sum(float bias) {{ return bias; }}\n"
          "__device__ __forceinline__ unsigned ended_pair(float a, float b, float, float, bool kept) {{\n"
          "  return Target::clamped(Target::pair(a, b), kept ? {}u : 0u, kept ? {}u : 0u);\n}}\n",
          *low, *high);
  return R"(__device__ __forceinline__ float first_sum(float) { return 0.0f; }
__device__ __forceinline__ unsigned ended_pair(float a, float b, float bias_a, float bias_b, bool kept) {
  const float v[2] = {ended_value(a, 1.0f, bias_a, 0.0f), ended_value(b, 1.0f, bias_b, 0.0f)};
  unsigned word[1];
  put_values<2>(word, v);
  return kept ? word[0] : 0u;
}
)";
}

std::string text_of(const Chain& chain, const InvertedTile& tile, const Plan& plan) {
  const Parts parts(chain);
  std::string text = fmt::format("#define HAS_EXPAND {0:d}\n#define multiply {1}\n#define multiply_first {1}_first\n",
                                 parts.expand != nullptr, parts.project->compute == ComputeType::f16 ? "mma_f16" : "mma_bf16");
  text += kernel_prelude();
  const auto add = [&](std::string_view name, const Convolution& p) {
    text += fmt::format("namespace {} {{\n{}{}{}}}\n", name, epilogue_text(p), shape_text(p), pair_text(p));
  };
  if (parts.expand != nullptr) add("expand", *parts.expand);
  add("depthwise", *parts.depthwise);
  add("project", *parts.project);
  int64_t table = 0;
  for (const auto& [name, p] : {std::pair{"expand", parts.expand}, {"depthwise", parts.depthwise}, {"project", parts.project}}) {
    text += constant_text(fmt::format("{}_bias", name), p == nullptr ? 0 : table + p->out_pitch);
    table += p == nullptr ? 0 : 2 * p->out_pitch;
  }
  text += fmt::format(
      "static const bool has_expand = {};\nstatic const int tile_h = {}, tile_w = {}, patch_h = {}, patch_w = {}, chunk = {}, warps = {}, "
      "blocks = {}, source_pitch = {}, source_steps = {}, source_stride = {}, chunk_stride = {}, out_stride = {}, chunks = {}, warps_m = "
      "{}, "
      "out_columns = {};\n",
      parts.expand != nullptr, tile.h, tile.w, tile.patch_h, tile.patch_w, tile.chunk, tile.warps, tile.blocks, parts.source_pitch(),
      plan.source_steps, plan.source_stride, plan.chunk_stride, plan.out_stride, plan.chunks, plan.warps_m, plan.out_columns);
  text += fmt::format(
      "static const int project_at = {}, depthwise_at = {}, weight_bytes = {}, biases_at = {}, part_bytes = {}, wide_at = {}, source_at = "
      "{}, "
      "convolved_at = {}, weights_at = {};\n",
      plan.project_at, plan.depthwise_at, plan.weight_bytes, plan.biases_at, plan.part_bytes, plan.wide_at, plan.source_at,
      plan.convolved_at, plan.weights_at);
  return text + std::string(kernel_file("inverted_residual")) + "#undef HAS_EXPAND\n#undef multiply\n#undef multiply_first\n";
}

// A thread has columns 8 * j + 2 * q and the next of a product, and stores a quarter of the chunk's channels, q's.
int64_t row_of_channel(int64_t channel, int chunk) {
  const int64_t q = channel / (chunk / 4), of_thread = channel % (chunk / 4);
  return of_thread / 2 * 8 + q * 2 + of_thread % 2;
}

// Packs by chunk: rows of the first weights by wide channel, of the last ones by result, and the kernel's places in float32.
std::vector<std::byte> pack(const Chain& chain, const ChainVariant& variant, std::span<const Tensor> weights) {
  const InvertedTile& tile = variant.inverted;
  const Plan plan = plan_of(chain, tile);
  const Parts parts(chain);
  std::vector<std::byte> packed(variant.packed_bytes);
  const size_t first = parts.expand != nullptr ? 1 : 0;
  const WeightReader places(*parts.depthwise, weights[first]), last(*parts.project, weights[first + 1]);
  const auto put = [&](int64_t at, float value) {
    put_operand(packed, static_cast<size_t>(at / element_bytes), parts.project->compute, value);
  };
  for (int64_t channel = 0; channel < parts.depthwise->out_channels; ++channel) {
    const int64_t begin = channel / tile.chunk * plan.weight_bytes, own = channel % tile.chunk;
    if (parts.expand != nullptr) {
      const WeightReader reader(*parts.expand, weights[0]);
      for (int64_t in = 0; in < parts.expand->in_channels; ++in)
        put(begin + row_of_channel(own, tile.chunk) * plan.source_stride + in * element_bytes, reader.at(channel, in, 0, 0));
    }
    for (int64_t out = 0; out < parts.project->out_channels; ++out)
      put(begin + plan.project_at + out * plan.chunk_stride + own * element_bytes, last.at(out, channel, 0, 0));
    for (int64_t place = 0; place < parts.depthwise->kernel_h * parts.depthwise->kernel_w; ++place)
      put_operand(
          packed, static_cast<size_t>((begin + plan.depthwise_at) / 4 + place * tile.chunk + own), ComputeType::f32,
          rounded(parts.depthwise->compute, places.at(channel, 0, place / parts.depthwise->kernel_w, place % parts.depthwise->kernel_w)));
  }
  return packed;
}

// Not much of the last tiles is beyond the image, and the threads have something to do.
bool suits(const Chain& chain, const InvertedTile& tile) {
  const Parts parts(chain);
  const Convolution& project = *parts.project;
  const double covered = static_cast<double>(divide_up(project.out_h, tile.h) * tile.h * divide_up(project.out_w, tile.w) * tile.w);
  const int items = tile.h / tile.patch_h * (tile.w / tile.patch_w) * tile.chunk / 2;
  constexpr int most_rows = 16;  // blocks of 16 pixels per warp: their bits fit a word
  return plan_of(chain, tile).region <= most_rows * 16 * tile.warps &&
         covered <= 1.35 * static_cast<double>(project.out_h * project.out_w) && items >= 24 * tile.warps &&
         divide_up(parts.depthwise->out_pitch, tile.chunk) * tile.chunk * 4 <= parts.depthwise->out_pitch * 5;
}

}  // namespace

bool is_inverted_residual(const Chain& chain) {
  const size_t links = chain.links.size();
  if (links < 2 || links > 3 || chain.branch) return false;
  const Parts parts(chain);
  for (size_t i = 0; i < links; ++i)
    if (!is_of_halves(chain.links[i].problem) || (i + 1 < links && chain.links[i].stored)) return false;
  if (!is_depthwise(*parts.depthwise) || !is_plain_product(*parts.project) || !follows(*parts.project, *parts.depthwise)) return false;
  return parts.expand == nullptr ||
         (is_plain_product(*parts.expand) && !parts.expand->epilogue.has_residual() && follows(*parts.depthwise, *parts.expand));
}

ChainVariant inverted_residual_variant(const Chain& chain, const InvertedTile& tile, const Chip& chip) {
  const Plan plan = plan_of(chain, tile);
  ChainVariant variant;
  variant.name =
      fmt::format("inverted {}x{} p{}x{} c{} w{} b{}", tile.h, tile.w, tile.patch_h, tile.patch_w, tile.chunk, tile.warps, tile.blocks);
  variant.inverted = tile;
  variant.pack = pack;
  variant.packed_bytes = static_cast<size_t>(plan.chunks * plan.weight_bytes);
  Launch& launch = variant.launch;
  launch.entry = "inverted_residual";
  launch.source = text_of(chain, tile, plan);
  launch.grid = {static_cast<unsigned>(tiles_of(*Parts(chain).project, tile)), 1, 1};
  launch.block = {static_cast<unsigned>(32 * tile.warps), 1, 1};
  launch.shared_bytes = plan.shared_bytes;
  launch.overlaps_previous = can_overlap(chip);
  launch.arguments = {BufferArgument{chain_source}, BufferArgument{chain_added}, BufferArgument{chain_weights},
                      BufferArgument{chain_scale_bias}, BufferArgument{chain_targets + static_cast<int>(chain.links.size()) - 1}};
  return variant;
}

std::vector<ChainVariant> inverted_residual_variants(const Chain& chain, const Chip& chip) {
  constexpr size_t most = 12;
  if (chip.architecture < 80 || !is_inverted_residual(chain)) return {};
  std::vector<InvertedTile> tiles;
  for (const auto& [h, w, patch_h, patch_w] : {std::array{8, 16, 4, 4},
                                               {8, 8, 2, 4},
                                               {8, 8, 4, 4},
                                               {8, 14, 4, 2},
                                               {4, 14, 4, 2},
                                               {4, 16, 4, 4},
                                               {8, 28, 4, 4},
                                               {14, 14, 7, 2},
                                               {7, 14, 7, 2},
                                               {7, 7, 7, 1}})
    for (const int chunk : {32, 64, 48, 16})
      for (const int warps : {4, 8}) {
        InvertedTile tile{.h = h, .w = w, .patch_h = patch_h, .patch_w = patch_w, .chunk = chunk, .warps = warps, .blocks = 1};
        if (!suits(chain, tile)) continue;
        tile.blocks = blocks_of(plan_of(chain, tile), tile, chip);
        if (tile.blocks > 0) tiles.push_back(tile);
      }
  std::stable_sort(tiles.begin(), tiles.end(),
                   [&](const InvertedTile& a, const InvertedTile& b) { return cost_of(chain, a) < cost_of(chain, b); });
  if (tiles.size() > most) tiles.resize(most);
  std::vector<ChainVariant> variants;
  std::transform(tiles.begin(), tiles.end(), std::back_inserter(variants),
                 [&](const InvertedTile& tile) { return inverted_residual_variant(chain, tile, chip); });
  return variants;
}

}  // namespace deepgap::gpu
