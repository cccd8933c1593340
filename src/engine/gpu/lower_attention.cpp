// Attention in one kernel, for numbers of 16 bits: a block takes 64 or 128 queries of a head, goes over the keys 64 at a time, and keeps a
// softmax that is corrected as larger scores come (Milakov and Gimelshein 2018; Dao et al. 2022), so that scores are never in memory.
// Products by mma.sync, sums in float32. hopper_attention.cpp has another kernel for the same.
#include "base/rounding.h"
#include "engine/gpu/attention.h"
#include "engine/gpu/generated.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/operators.h"
#include "engine/passes/attention.h"

#include <fmt/format.h>

#include <array>
#include <optional>

namespace deepgap::gpu {
namespace {

constexpr int64_t most_columns = 128;

std::string defined(const std::string& name, int64_t value) { return fmt::format("#define {} {}LL\n", name, value); }
std::string defined(const std::string& name, const std::string& value) { return fmt::format("#define {} {}\n", name, value); }

std::string steps_text(char name, const std::array<int64_t, 4>& steps) {
  std::string result;
  for (size_t i = 0; i < steps.size(); ++i) result += defined(fmt::format("{}{}", name, i), steps[i]);
  return result;
}

// Returns whether rows can be read 16 bytes at a time: their elements next to each other, everything else multiples of eight of them.
bool is_wide(const std::array<int64_t, 4>& steps, int64_t columns, size_t column_axis) {
  if (steps[column_axis] != 1 || columns % 8 != 0) return false;
  for (size_t i = 0; i < steps.size(); ++i)
    if (i != column_axis && steps[i] % 8 != 0) return false;
  return true;
}

int64_t up(int64_t size) { return (size + 15) / 16 * 16; }

struct Layout : AttentionLayout {
  int row_blocks = 1;  // blocks of 16 queries, for each of the four warps
  int64_t rows() const { return int64_t{64} * row_blocks; }
};

// Two blocks of queries share what is read of keys and values, but where that would mean to compute many queries that are not there.
int row_blocks_of(const Attention& a) {
  const auto padded = [&](int64_t rows) { return round_up(a.queries, rows); };
  return up(a.depth) <= 64 && up(a.columns) <= 64 && padded(128) * 4 <= padded(64) * 5 ? 2 : 1;
}

std::string sizes_text(const Layout& layout) {
  const Attention& a = layout.attention;
  const auto& [q, k, v] = layout.first;
  std::string result = defined("QUERIES", fmt::format("{}", a.queries)) + defined("KEYS", fmt::format("{}", a.keys));
  result += defined("REAL_DEPTH", fmt::format("{}", a.depth)) + defined("REAL_COLUMNS", fmt::format("{}", a.columns));
  result += defined("DEPTH", fmt::format("{}", up(a.depth))) + defined("COLUMNS", fmt::format("{}", up(a.columns)));
  result += defined("THREADS", "128") + defined("ROW_BLOCKS", fmt::format("{}", layout.row_blocks));
  result += defined("Q_FIRST", q) + defined("K_FIRST", k) + defined("V_FIRST", v);
  result += attention_steps_text(a);
  const WideOperands wide = wide_operands(layout);
  result += defined("WIDE_Q", wide.query ? "true" : "false") + defined("WIDE_K", wide.key ? "true" : "false");
  return result + defined("WIDE_V", wide.value ? "true" : "false") + defined("PAIRED", wide.result ? "true" : "false");
}

// Scores are powers of two: e^x = 2^(x log2 e).
constexpr double log2_e = 1.4426950408889634;

// Elements before the operand's first, after its steps became those of what it is a part of; nullopt: it is none that can be read there.
std::optional<int64_t> as_part(const Lowering& lowering, ValueId id, Attention::Operand& operand) {
  const Part* part = lowering.part(id);
  if (part == nullptr || part->columns == 0) return std::nullopt;
  const int64_t pitch = lowering.shape(part->of).back();
  std::array<int64_t, 4> steps = operand.steps;
  for (int64_t& step : steps) {
    if (step % part->columns == 0)
      step = step / part->columns * pitch;
    else if (step > part->columns)
      return std::nullopt;
  }
  operand.steps = steps;
  return part->first;
}

// Reads query, key and value, each where it lies.
std::vector<Operand> read_operands(Lowering& lowering, const Node& node, Layout& layout) {
  std::vector<Operand> in;
  Attention& a = layout.attention;
  size_t i = 0;
  for (Attention::Operand* operand : {&a.query, &a.key, &a.value}) {
    ValueId id = node.inputs[operand->input];
    if (lowering.constant(id) != nullptr) return {};
    if (const auto first = as_part(lowering, id, *operand)) {
      layout.first[i] = *first;
      id = lowering.part(id)->of;
    }
    in.push_back(lowering.read(id, plain_form(lowering.numbers().stored, lowering.shape(id))));
    ++i;
  }
  return in;
}

// The kernel by mma.sync, of `buffers` arguments.
Launch mma_attention(const Layout& layout, const std::string& mask_text, const std::string& entry, size_t buffers) {
  const Attention& a = layout.attention;
  const bool half = layout.element == Element::f16;
  std::string source(kernel_prelude());
  source += sizes_text(layout) + mask_text + kernel_file("attention_softmax");
  source += defined("ENTRY", entry);
  source += defined("PRODUCT", half ? "mma_f16" : "mma_bf16") + defined("HALF", half ? "F16" : "BF16");
  Launch launch = launch_over(entry, source + kernel_file("attention"), 1, buffers, 128);
  launch.grid = {static_cast<unsigned>((a.queries + layout.rows() - 1) / layout.rows()), static_cast<unsigned>(a.heads),
                 static_cast<unsigned>(a.batch)};
  launch.shared_bytes = static_cast<size_t>((layout.rows() + 128) * (up(a.depth) + 8) + 128 * (up(a.columns) + 8)) * 2;
  return launch;
}

}  // namespace

WideOperands wide_operands(const AttentionLayout& layout) {
  const Attention& a = layout.attention;
  const auto& [q, k, v] = layout.first;
  return {.query = q % 8 == 0 && is_wide(a.query.steps, a.depth, 3),
          .key = k % 8 == 0 && is_wide(a.key.steps, a.depth, 2),
          .value = v % 8 == 0 && is_wide(a.value.steps, a.columns, 3),
          .result = is_wide(a.result, a.columns, 3)};
}

std::string attention_steps_text(const Attention& a) {
  return steps_text('Q', a.query.steps) + steps_text('K', a.key.steps) + steps_text('V', a.value.steps) + steps_text('R', a.result);
}

std::string attention_mask_text(const Attention& a, const Operand* mask) {
  // Scores stay as the products give them where nothing is added to them: the factor is then part of the power's multiply-add.
  const std::string scale = number_text(static_cast<float>(a.scale * log2_e)), one = number_text(static_cast<float>(log2_e));
  if (mask == nullptr) {
    const bool later = a.scale > 0;  // else the largest product is not the largest score
    return fmt::format(
        "#define MASK_PARAMETER\n#define MASK_ARGUMENT\n#define MASK_OF_KEY\n#define ADDED 0.0f\n#define MASKED {}\n#define FACTOR {}\n",
        later ? "" : fmt::format("x *= {};", scale), later ? scale : "1.0f");
  }
  const auto& steps = a.mask->steps;
  const bool of_key = steps[2] == 0;  // the same for every query
  const std::string at = fmt::format("mask[batch * {}LL + head * {}LL + {} * {}LL + key * {}LL]", steps[0], steps[1],
                                     of_key ? "0" : "place", steps[2], steps[3]);
  // The least float stands for "none" in masks, too, and must not become infinite: a row of nothing else is a mean, not a number divided by
  // 0.
  const std::string there =
      fmt::format("key < KEYS{} ? fmaxf({}, -2.0e38f) : 0.0f", of_key ? "" : " && place < QUERIES", load_text(mask->form.element, at));
  std::string result =
      fmt::format("#define MASK_PARAMETER const {}* mask,\n#define MASK_ARGUMENT mask,\n#define FACTOR 1.0f\n", c_type(mask->form.element));
  result += fmt::format("#define MASK_OF_KEY {}\n#define ADDED {}\n",
                        of_key ? fmt::format("const float added = ({}) * {};", there, one) : "", of_key ? "added" : "0.0f");
  return result + fmt::format("#define MASKED x = fmaf(x, {}, {});\n", scale, of_key ? "added" : fmt::format("({}) * {}", there, one));
}

bool lower_attention(Lowering& lowering, const Operation& operation) {
  const Node& node = *operation.node;
  Layout layout{{.attention = attention_of(node)}};
  const Attention& a = layout.attention;
  const Element stored = lowering.numbers().stored;
  if (!is_half(stored)) return false;
  if (a.depth > most_columns || a.columns > most_columns || a.queries == 0 || a.keys == 0 || a.batch * a.heads == 0) return false;
  if (a.heads > 65535 || a.batch > 65535 || lowering.chip().architecture < 80) return false;
  layout.row_blocks = row_blocks_of(a);
  layout.element = stored;
  std::vector<Operand> in = read_operands(lowering, node, layout);
  if (in.empty()) return false;
  if (a.mask) {
    const ValueId id = node.inputs[a.mask->input];
    const Operand made = lowering.native(id);
    if (kind_of(made.form.element) != Kind::number) return false;
    in.push_back(lowering.read(id, plain_form(made.form.element, made.shape)));
  }
  const Operand out = lowering.write(operation.output, plain_form(stored, lowering.shape(operation.output)));
  const std::string entry = kernel_name("attention");
  const std::string mask_text = attention_mask_text(a, a.mask ? &in.back() : nullptr);
  lowering.count(operation, stored == Element::f16 ? "fp16" : "bf16");
  if (lowering.choices().hopper_attention) {
    if (auto launch = hopper_attention(layout, mask_text, entry, lowering.chip())) {
      lowering.step(operation, std::move(*launch), in, {out});
      return true;
    }
  }
  lowering.step(operation, mma_attention(layout, mask_text, entry, in.size() + 1), in, {out});
  return true;
}

}  // namespace deepgap::gpu
