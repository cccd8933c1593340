#include "engine/gpu/decoder/step_kernels.h"

#include "engine/gpu/kernel_file.h"
#include "engine/gpu/kernel_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap::gpu {
namespace {

std::string words_text(Element halves) {
  const bool bf16 = halves == Element::bf16;
  return kernel_prelude() + fmt::format("typedef {} HALF;\n#define PRODUCT {}\n", type_text(halves), bf16 ? "mma_bf16" : "mma_f16") +
         kernel_file("decoder_words") + kernel_file("decoder_math");
}

std::string flag_text(std::string_view name, bool value) { return constant_text(name, value ? 1 : 0); }

std::string epsilon_text(const StepShape& shape) {
  return fmt::format("#define EPSILON {}\n", literal(static_cast<float>(shape.decoder.norm_epsilon)));
}

size_t attention_bytes(const StepShape& shape) {
  constexpr int64_t warps = 8, span = 256;
  const int64_t own = shape.shared() * (shape.decoder.head_size * (1 + warps) + span + 2 * warps) + 1;
  return static_cast<size_t>(own) * sizeof(float);
}

}  // namespace

ProductCut product_cut(int64_t tokens, int64_t rows, int multiprocessors) {
  ProductCut cut;
  while (cut.groups * 8 < tokens) cut.groups *= 2;
  // Tokens are read once for each warp's rows: more rows a warp read them less often, as long as there are warps enough.
  if ((cut.groups == 2 || cut.groups == 4) && rows / (2 * tile_rows) >= 2 * multiprocessors) cut.tiles = 2;
  return cut;
}

std::string step_text(const StepShape& shape) {
  const DecoderShape& d = shape.decoder;
  std::string text = words_text(shape.halves);
  const std::pair<const char*, int64_t> constants[] = {{"EMBEDDING", d.embedding},
                                                       {"EMBEDDING_PITCH", shape.pitch(d.embedding)},
                                                       {"TABLE_PITCH", shape.pitch(d.embedding)},
                                                       {"QUERY_PITCH", shape.pitch(shape.queries())},
                                                       {"HEADS", d.heads},
                                                       {"KV_HEADS", d.kv_heads},
                                                       {"HEAD_SIZE", d.head_size},
                                                       {"ROPE_SIZE", d.rope_size},
                                                       {"CONTEXT", shape.cache_context},
                                                       {"LAYERS", d.layers},
                                                       {"VOCABULARY", d.vocabulary},
                                                       {"SHARED", shape.shared()}};
  for (const auto& [name, value] : constants) text += constant_text(name, value);
  text += flag_text("LAYER_NORM", shape.style.layer_norm) + flag_text("ROTATES", !shape.style.learned_positions) +
          flag_text("ROTATES_HALVES", shape.style.rotates_halves);
  text += epsilon_text(shape) + fmt::format("#define SCALE {}\n", literal(1 / std::sqrt(static_cast<float>(d.head_size))));
  return text + kernel_file("decoder_rows") + kernel_file("decoder_attention") + kernel_file("decoder_prefill");
}

std::string product_text(WeightType type, const StepShape& shape, const ProductCut& cut) {
  const MatrixFormat format = matrix_format(type);
  const int64_t depth = format.bits == 16 ? 4 / cut.tiles : 2 / cut.tiles;
  std::string text = words_text(shape.halves);
  const std::pair<const char*, int64_t> constants[] = {{"BITS", format.bits},
                                                       {"WARPS", product_warps},
                                                       {"GROUPS", cut.groups},
                                                       {"TILES", cut.tiles},
                                                       {"DEPTH", depth},
                                                       {"SCALE_WORDS", format.scale_words},
                                                       {"SCALE_GROUP", format.scale_group}};
  for (const auto& [name, value] : constants) text += constant_text(name, value);
  text += flag_text("FLOAT_SCALES", format.float_scales) + flag_text("HAS_OFFSET", format.has_offset) +
          flag_text("IS_SIGNED", format.is_signed) + flag_text("NORMALIZES", cut.normalizes) + epsilon_text(shape);
  // The number whose last place is one: 1024 as F16, 128 as BF16.
  text += fmt::format("static const unsigned MAGIC = 0x{}u;\n", shape.halves == Element::bf16 ? "4300" : "6400");
  return text + kernel_file("decoder_product") + (format.bits == 16 ? "" : kernel_file("decoder_unpack"));
}

size_t product_shared_bytes(const ProductCut& cut, int64_t pitch) {
  const size_t sums = static_cast<size_t>(product_warps * cut.tiles * cut.groups * 128) * sizeof(float);
  return cut.normalizes ? sums + 32 + 2 * static_cast<size_t>(pitch) : sums;
}

size_t step_shared_bytes(const std::string& entry, const StepShape& shape) {
  if (entry == "attend") return attention_bytes(shape);
  if (entry == "normalize_tokens") return 16 * sizeof(float);
  return entry == "best_token" ? 512 * 2 * sizeof(float) : 0;
}

void StepKernels::use(const StepShape& shape) {
  shape_ = shape;
  step_text_ = step_text(shape);
  known_.clear();
}

StepKernel StepKernels::found(const std::string& name, const std::string& entry, const std::string& source, size_t shared_bytes) {
  Launch wanted;
  wanted.entry = entry;
  wanted.source = source;
  wanted.shared_bytes = shared_bytes;
  return known_[name] = {kernels_.function(wanted), shared_bytes};
}

StepKernel StepKernels::step(const std::string& entry) {
  const auto known = known_.find(entry);
  return known != known_.end() ? known->second : found(entry, entry, step_text_, step_shared_bytes(entry, shape_));
}

StepKernel StepKernels::product(WeightType type, const ProductCut& cut, const std::string& entry) {
  const std::string name = fmt::format("{} {} {} {} {}", format_of(type).name, cut.groups, cut.tiles, cut.normalizes, entry);
  const auto known = known_.find(name);
  return known != known_.end()
             ? known->second
             : found(name, entry, product_text(type, shape_, cut), product_shared_bytes(cut, shape_.pitch(shape_.decoder.embedding)));
}

}  // namespace deepgap::gpu
