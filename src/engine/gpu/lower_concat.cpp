// Concat, with what follows it element by element.
#include "engine/gpu/generated.h"
#include "engine/gpu/operators.h"
#include "engine/gpu/pointwise.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap::gpu {
namespace {

// Operands side by side along `axis` of the result.
struct Joined {
  Operand out;
  std::vector<Operand> in;
  size_t axis = 0;
};

Launch plain_concat(const Joined& joined) {
  std::string body;
  int64_t begin = 0;
  const Kind kind = kind_of(joined.out.form.element);
  for (size_t i = 0; i < joined.in.size(); ++i) {
    auto places = coordinates(joined.out.shape.size());
    places[joined.axis] = fmt::format("c{} - I({})", joined.axis, begin);
    begin += joined.in[i].shape[joined.axis];
    const std::string value = convert_text(kind_of(joined.in[i].form.element), kind, element_at(joined.in, i, places));
    const std::string condition = i + 1 == joined.in.size() ? "" : fmt::format("if (c{} < I({})) ", joined.axis, begin);
    body += fmt::format("{}  {}r = {};\n", i == 0 ? "" : "  else", condition, value);
  }
  return element_kernel("Concat", {joined.out, joined.in, kind, body});
}

}  // namespace

bool lower_concat(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const Shape& shape = lowering.shape(operation.output);
  if (operation.is_quantized()) return false;
  Joined joined;
  joined.axis = lowering.reader(node).axis_of("axis", 1, shape.size());
  for (ValueId id : node.inputs)
    if (lowering.shape(id)[joined.axis] != 0) joined.in.push_back(lowering.native(id));
  if (joined.in.empty()) return false;
  const auto form_of = [&](ValueId id) {
    const Form form = pointwise_form(lowering, joined.in, shape, lowering.stored(id));
    return joined.in[0].form.channels_last ? channels_last_form(form.element, shape) : form;
  };
  const bool alike =
      std::all_of(joined.in.begin(), joined.in.end(), [&](const Operand& in) { return in.form.element == joined.in[0].form.element; });
  if (alike && element_count(shape) > 0) {
    lower_joined(lowering, operation, joined.in, joined.axis, form_of(operation.output));
    return true;
  }
  const bool plain = operation.posts.empty();
  const ValueId target = plain ? operation.output : lowering.add_value(lowering.type(operation.output), shape);
  joined.out = lowering.write(target, form_of(target));
  lowering.step(operation, plain_concat(joined), joined.in, {joined.out});
  if (!plain) lower_posts(lowering, operation, target, 0);
  return true;
}

}  // namespace deepgap::gpu
