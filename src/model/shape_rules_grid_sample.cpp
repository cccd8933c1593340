#include "model/shape_rules.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

// [samples, channels, then the grid's sizes without its last, which counts coordinates].
void grid_sample(ShapeContext& context) {
  const auto& x = context.dims(0);
  const auto& grid = context.dims(1);
  std::optional<Dims> out;
  if (x && grid) {
    const Dim coordinates = fixed_dim(static_cast<int64_t>(x->size()) - 2);
    if (x->size() < 3 || grid->size() != x->size() || (grid->back().known() && grid->back() != coordinates))
      context.fail(fmt::format("a grid of shape {} for an input of shape {}", to_string(*grid), to_string(*x)));
    out = Dims(x->begin(), x->begin() + 2);
    out->insert(out->end(), grid->begin() + 1, grid->end() - 1);
  }
  context.set(0, context.type(0), std::move(out));
}

const bool registered = add_shape_rules({{"GridSample", grid_sample}});

}  // namespace
}  // namespace deepgap
