#include "model/einsum.h"
#include "model/shape_rules.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

void einsum(ShapeContext& context) {
  context.set(0, context.type(0), std::nullopt);
  std::vector<size_t> ranks;
  for (size_t i = 0; i < context.node.inputs.size(); ++i) {
    if (context.type(i) != context.type(0)) context.fail("its inputs differ in type");
    if (!context.dims(i)) return;
    ranks.push_back(context.dims(i)->size());
  }
  const EinsumEquation equation = parse_einsum(context.node, ranks);
  // The size of each index: axes of size 1 are broadcast.
  std::vector<std::optional<Dims>> sizes(equation.count);
  for (size_t i = 0; i < ranks.size(); ++i) {
    for (size_t axis = 0; axis < ranks[i]; ++axis) {
      auto& size = sizes[equation.inputs[i][axis]];
      const std::optional<Dims> here = Dims{(*context.dims(i))[axis]};
      size = size ? context.broadcast(size, here, 0) : here;
    }
  }
  Dims out;
  for (size_t i = 0; i < equation.output; ++i) out.push_back(sizes[i]->front());
  context.set(0, context.type(0), std::move(out));
}

const bool registered = add_shape_rules({{"Einsum", einsum}});

}  // namespace
}  // namespace deepgap
