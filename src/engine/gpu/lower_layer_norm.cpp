// LayerNormalization of dense rows: a warp for each row, 16 bytes a thread at once, all of the row in registers.
#include "base/rounding.h"
#include "engine/gpu/generated.h"
#include "engine/gpu/kernel_file.h"
#include "engine/gpu/node_inputs.h"
#include "engine/gpu/operators.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

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

std::string kernel_text(const Node& node, const Operand& x, const Operand& out, const std::string& entry) {
  const Element element = x.form.element;
  const int64_t count = x.shape.back(), rows = element_count(x.shape) / count;
  const int64_t vector = vector_bytes / static_cast<int64_t>(byte_size(element)), each = numbers_of_thread(count, element) / vector;
  std::string source = fmt::format("typedef long long I;\ntypedef {} T;\ntypedef {} R;\n#define ROWS {}LL\n#define COUNT {}\n",
                                   c_type(element), c_type(out.form.element), rows, count);
  source +=
      fmt::format("#define E {}\n#define V {}\n#define EPSILON {}\n", each, vector, number_text(attribute_float(node, "epsilon", 1e-5F)));
  source += fmt::format("#define GET(w) {}\n#define PUT(v) {}\n", load_text(element, "w"), store_text(out, Kind::number, "v"));
  source += fmt::format("#define ENTRY {}\n", entry);
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
  const auto first = static_cast<size_t>(NodeInputs(lowering, node).axis(attribute_int(node, "axis", -1), x.shape.size()));
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
  const int64_t rows = element_count(x.shape) / count;
  const std::string entry = lowering.new_entry(node.op);
  Launch launch = launch_over(entry, kernel_text(node, x, out, entry), 1, 4, 32 * rows_of_block);
  launch.grid = {static_cast<unsigned>(divide_up(rows, rows_of_block)), 1, 1};
  lowering.step(operation, std::move(launch), in, {out});
  return true;
}

}  // namespace deepgap::gpu
