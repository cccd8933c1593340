// LayerNormalization of dense rows: a warp has a row at a time in its registers, 16 bytes a thread at once.
#include "base/rounding.h"
#include "engine/gpu/generated.h"
#include "engine/gpu/kernel_file.h"
#include "engine/gpu/operators.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap::gpu {
namespace {

constexpr int64_t most_numbers = 64;  // numbers per thread
constexpr int rows_of_block = 4;

bool is_parameter(const Operand& operand, int64_t count) {
  return operand.form.element == Element::f32 && elements_of(operand.shape, operand.form) == count && element_count(operand.shape) == count;
}

// Numbers that one thread of a warp has of a row of `count`.
int64_t numbers_of_thread(int64_t count, Element element) {
  const int64_t vector = vector_bytes / static_cast<int64_t>(byte_size(element));
  return (count + 32 * vector - 1) / (32 * vector) * vector;
}

// Numbers per thread up to which it has registers for scale and bias, too.
constexpr int64_t most_kept = 32;

// Blocks that the device holds at once: a thread has a row that it computes and the next one, and may keep scale and bias.
int64_t resident_blocks(int64_t numbers, bool kept, const Chip& chip) {
  constexpr int64_t registers = 65536, of_all_else = 40;
  const int64_t taken = (kept ? 4 : 2) * numbers + of_all_else;
  return chip.multiprocessors * (registers / (32 * rows_of_block * taken));
}

std::string kernel_text(const Node& node, const Operand& x, const Operand& out, bool kept, const std::string& entry) {
  const Element element = x.form.element;
  const int64_t count = x.shape.back(), rows = element_count(x.shape) / count;
  const int64_t vector = vector_bytes / static_cast<int64_t>(byte_size(element)), each = numbers_of_thread(count, element) / vector;
  std::string source = fmt::format("typedef long long I;\ntypedef {} T;\ntypedef {} R;\n#define ROWS {}LL\n#define COUNT {}\n",
                                   c_type(element), c_type(out.form.element), rows, count);
  source +=
      fmt::format("#define E {}\n#define V {}\n#define EPSILON {}\n", each, vector, number_text(attribute_float(node, "epsilon", 1e-5F)));
  source += fmt::format("#define GET(w) {}\n#define PUT(v) {}\n", load_text(element, "w"), store_text(out, Kind::number, "v"));
  source += fmt::format("#define ENTRY {}\n#define KEPT {}\n", entry, kept);
  return source + generated_prelude() + kernel_file("layer_norm");
}

}  // namespace

bool lower_layer_norm(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const bool whole = node.inputs.size() == 3 && node.inputs[2] != no_value && operation.posts.empty() && !operation.result;
  if (!whole || element_count(lowering.shape(operation.output)) == 0) return false;
  for (size_t i = 1; i < node.outputs.size(); ++i)
    if (node.outputs[i] != no_value) return false;
  std::vector<Operand> in;
  for (ValueId id : node.inputs) in.push_back(lowering.native(id));
  const Operand& x = in[0];
  const auto first = lowering.reader(node).axis_of("axis", -1, x.shape.size());
  const Element element = x.form.element;
  const int64_t count = x.shape.back(), vector = vector_bytes / static_cast<int64_t>(byte_size(element));
  const Element result = lowering.stored(operation.output);
  const bool narrower = byte_size(element) == 2 && result == Element::e4m3;
  if (first + 1 != x.shape.size() || kind_of(element) != Kind::number || (element != result && !narrower)) return false;
  if (!same_places(x.shape, x.form, plain_form(element, x.shape)) || count % vector != 0 ||
      numbers_of_thread(count, element) > most_numbers)
    return false;
  if (!is_parameter(in[1], count) || !is_parameter(in[2], count)) return false;
  const Operand out = lowering.write(operation.output, plain_form(result, x.shape));
  const int64_t rows = element_count(x.shape) / count, numbers = numbers_of_thread(count, element);
  const bool constant = lowering.constant(node.inputs[1]) != nullptr && lowering.constant(node.inputs[2]) != nullptr;
  const bool kept = constant && numbers <= most_kept;
  const std::string entry = kernel_name(node.op);
  Launch launch = launch_over(entry, kernel_text(node, x, out, kept, entry), 1, 4, 32 * rows_of_block);
  launch.grid = {static_cast<unsigned>(std::min(divide_up(rows, rows_of_block), resident_blocks(numbers, kept, lowering.chip()))), 1, 1};
  lowering.step(operation, std::move(launch), in, {out});
  return true;
}

}  // namespace deepgap::gpu
