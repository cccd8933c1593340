// TopK: a block finds the best of each part of the axis, and the best of all parts are searched again until one part is left. A block sorts
// its part, or, where few are wanted of many, only what can be among the best. What sorting does not take (64-bit numbers, very many
// wanted of very many) is searched plainly.
#include "base/rounding.h"
#include "engine/gpu/generated.h"
#include "engine/gpu/kernel_file.h"
#include "engine/gpu/operators.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace deepgap::gpu {
namespace {

constexpr int64_t longest_part = 2048;                                                   // that is sorted whole
constexpr int64_t selecting_threads = 256, most_selected = 128, most_candidates = 2048;  // 16 KiB of shared memory
constexpr int64_t enough_blocks = 512;                                                   // for all multiprocessors to be busy

struct Search {
  Operand in;
  size_t axis = 0;
  int64_t wanted = 0;
  bool largest = true;
  std::optional<Operand> values, places;
};

// Element c of the sorted axis: the best of those that come after the one found before. The first of equal ones comes first.
void search_plainly(Lowering& lowering, const Operation& operation, const Search& search) {
  const Kind kind = kind_of(search.in.form.element);
  auto places = coordinates(search.in.shape.size());
  places[search.axis] = "k";
  const std::string text = fmt::format(
      "  I at = -1;\n  {0} last = 0;\n  for (I step = 0; step <= c{1}; ++step) {{\n    I best = -1;\n    {0} value = 0;\n    for (I k = 0; "
      "k < I({2}); ++k) {{\n      const {0} v = {3};\n"
      "      const bool after = at < 0 || last {4} v || (v == last && k > at);\n      if (after && (best < 0 || v {4} value)) {{ best = k; "
      "value = v; }}\n    }}\n    at = best;\n    last = value;\n  }}\n",
      c_type(kind), search.axis, search.in.shape[search.axis], element_at({search.in}, 0, places), search.largest ? ">" : "<");
  const auto emit = [&](const Operand& out, Kind result, const char* end) {
    lowering.step(operation, element_kernel("TopK", {out, {search.in}, result, text + end}), {search.in}, {out});
  };
  if (search.values) emit(*search.values, kind, "  r = last;");
  if (search.places) emit(*search.places, Kind::integer, "  r = at;");
}

// Returns the text that makes a sort key from number `x`.
std::string key_text(Element element, bool largest) {
  std::string bits = "unsigned(int(x)) ^ 0x80000000u";
  if (element == Element::u32) bits = "unsigned(x)";
  if (kind_of(element) == Kind::number)
    bits = "(__float_as_uint(x + 0.0f) & 0x80000000u) != 0 ? ~__float_as_uint(x + 0.0f) : __float_as_uint(x + 0.0f) | 0x80000000u";
  return fmt::format("const unsigned bits = {}; return (unsigned long long)({}) << 32 | (unsigned)k;", bits, largest ? "~bits" : "bits");
}

std::string row_coordinates(const Search& search) {
  std::string text = "  long long rest = row;\n";
  for (size_t axis = search.in.shape.size(); axis-- > 0;)
    if (axis != search.axis)
      text += fmt::format("  const long long c{0} = rest % {1}; rest /= {1}; (void)c{0};\n", axis, search.in.shape[axis]);
  return text;
}

void replace(std::string& text, const std::string& what, const std::string& with) { text.replace(text.find(what), what.size(), with); }

// One round over `count` elements of each row: of the operand where `first`, else of keys.
struct Round {
  int64_t count = 0, part = 0, parts = 0, kept = 0;
  bool first = false, last = false;
  bool selects = false;  // rather than sorts the whole part
};

void divide(Round& round, int64_t wanted, int64_t rows) {
  round.selects = wanted <= most_selected && round.count > longest_part / 2;
  if (round.selects) {
    int64_t each = most_candidates / most_selected / 2;
    const auto blocks = [&](int64_t keys) { return rows * divide_up(round.count, selecting_threads * keys); };
    while (2 * each * wanted <= most_candidates && blocks(2 * each) >= enough_blocks) each *= 2;
    round.part = selecting_threads * each;
  } else {
    round.part = std::clamp<int64_t>(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(round.count))), 64, longest_part);
  }
  round.parts = divide_up(round.count, round.part);
  round.kept = std::min(wanted, round.part);
  round.last = round.parts == 1;
}

std::string write_text(const Search& search, const Round& round) {
  if (!round.last) return "to[(row * PARTS + part) * WANTED + e] = keys[e];";
  auto places = coordinates(search.in.shape.size());
  places[search.axis] = "e";
  std::string text = "const long long k = (unsigned)keys[e];";
  const auto offset = [&](const Operand& out) {
    std::string at = "0";
    for (size_t axis = 0; axis < out.shape.size(); ++axis) at += fmt::format(" + {} * {}LL", places[axis], out.strides[axis]);
    return at;
  };
  auto from = places;
  from[search.axis] = "k";
  if (search.values) {
    const Kind kind = kind_of(search.in.form.element);
    text += fmt::format(" values[{}] = {};", offset(*search.values),
                        store_text(search.values->form.element, kind, element_at({search.in}, 0, from)));
  }
  if (search.places) text += fmt::format(" places[{}] = k;", offset(*search.places));
  return text;
}

Launch round_kernel(const Search& search, const Round& round, int64_t rows, size_t buffers) {
  const std::string entry = kernel_name("sort");
  const int64_t threads = round.selects ? selecting_threads : std::min<int64_t>(round.part / 2, 256);
  auto places = coordinates(search.in.shape.size());
  places[search.axis] = "k";
  const Element element = search.in.form.element;
  std::string parameters = fmt::format("const {}* x0", c_type(element));
  if (!round.first) parameters += ", const unsigned long long* from";
  if (!round.last) parameters += ", unsigned long long* to";
  if (round.last && search.values) parameters += fmt::format(", {}* values", c_type(search.values->form.element));
  if (round.last && search.places) parameters += ", long long* places";
  std::string text = fmt::format("typedef long long I;\n{}extern \"C\" __global__ void __launch_bounds__({}) {}({}) {{\n",
                                 generated_prelude(), threads, entry, parameters);
  text += fmt::format("  constexpr int PART = {}, THREADS = {};\n  constexpr long long PARTS = {}, COUNT = {}, WANTED = {};\n", round.part,
                      threads, round.parts, round.count, round.kept);
  if (round.selects)
    text += fmt::format("  constexpr int CANDIDATES = {};\n", std::bit_ceil(static_cast<uint64_t>(round.kept * round.part / threads)));
  std::string body = kernel_file("top_k_keys") + kernel_file(round.selects ? "top_k_select" : "top_k_sort");
  replace(body, "/*coordinates*/", row_coordinates(search));
  replace(body, "/*read*/",
          round.first ? fmt::format("const {} x = {}; {}", c_type(kind_of(element)), element_at({search.in}, 0, places),
                                    key_text(element, search.largest))
                      : "return from[row * COUNT + k];");
  replace(body, "/*write*/", write_text(search, round));
  Launch launch = launch_over(entry, text + body + "}\n", 1, buffers, static_cast<unsigned>(threads));
  launch.grid = {static_cast<unsigned>(rows * round.parts), 1, 1};
  return launch;
}

void sort_in_rounds(Lowering& lowering, const Operation& operation, const Search& search) {
  const int64_t length = search.in.shape[search.axis], rows = element_count(search.in.shape) / length;
  std::optional<Operand> keys;
  for (Round round{.count = length, .first = true}; !round.last; round = {.count = round.parts * round.kept}) {
    divide(round, search.wanted, rows);
    round.first = !keys;
    std::vector<Operand> read{search.in}, written;
    if (keys) read.push_back(*keys);
    if (!round.last) {
      const Shape shape{rows, round.parts * round.kept};
      keys = lowering.write(lowering.add_value(DataType::u64, shape), plain_form(Element::u64, shape));
      written.push_back(*keys);
    } else {
      if (search.values) written.push_back(*search.values);
      if (search.places) written.push_back(*search.places);
    }
    lowering.step(operation, round_kernel(search, round, rows, read.size() + written.size()), read, written);
    if (round.last) return;
  }
}

bool can_sort(const Search& search) {
  const Element element = search.in.form.element;
  const bool short_numbers = kind_of(element) == Kind::number || (kind_of(element) == Kind::integer && byte_size(element) <= 4);
  const int64_t length = search.in.shape[search.axis];
  const bool shrinks = length <= longest_part || search.wanted <= longest_part / 4;
  return short_numbers && shrinks && length < (int64_t{1} << 32) && search.wanted > 0;
}

}  // namespace

bool lower_top_k(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const NodeReader inputs = lowering.reader(node);
  if (inputs.is_open(1)) return false;
  Search search{.in = lowering.native(node.inputs[0])};
  search.axis = inputs.axis_of("axis", -1, search.in.shape.size());
  search.largest = attribute_int(node, "largest", 1) != 0;
  for (size_t i = 0; i < node.outputs.size() && i < 2; ++i) {
    if (node.outputs[i] == no_value) continue;
    const Shape& shape = lowering.shape(node.outputs[i]);
    search.wanted = shape[search.axis];
    (i == 0 ? search.values : search.places) = lowering.write(node.outputs[i], plain_form(lowering.stored(node.outputs[i]), shape));
  }
  if (can_sort(search) && element_count(search.in.shape) > 0) {
    sort_in_rounds(lowering, operation, search);
  } else {
    search_plainly(lowering, operation, search);
  }
  return true;
}

}  // namespace deepgap::gpu
