#include "backends/tensorflow/tf_values.h"

#include "model/eval/fold_constants.h"
#include "model/graph_tools.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <numeric>

namespace deepgap {
namespace {

// Moving dimensions of one element moves nothing in memory.
bool only_moves_ones(const Shape& shape) {
  const int64_t channels = shape[1], places = element_count(std::span(shape).subspan(2));
  return channels == 1 || places == 1;
}

Shape reordered(const Shape& shape, const std::vector<int64_t>& order) {
  Shape made;
  for (const int64_t axis : order) made.push_back(shape[static_cast<size_t>(axis)]);
  return made;
}

}  // namespace

std::vector<int64_t> channels_last_order(size_t rank) {
  std::vector<int64_t> order(rank);
  std::iota(order.begin() + 1, order.end(), 2);
  order.back() = 1;
  return order;
}

std::vector<int64_t> channels_first_order(size_t rank) {
  std::vector<int64_t> order(rank);
  order[1] = static_cast<int64_t>(rank) - 1;
  std::iota(order.begin() + 2, order.end(), 1);
  return order;
}

TfOutput TfConstants::of(TfScope& scope, const std::string& /*name*/, const Tensor& tensor, const std::vector<int64_t>& order) {
  TfOutput& made = made_[{tensor.data.get(), tensor.type, tensor.shape, order}];
  if (!made) made = scope.constant(order.empty() ? tensor : permuted(tensor, order));
  return made;
}

void TfConstants::fold(Graph& bound) const { fold_constants(bound); }

void TfConstants::replace(TfScope& /*scope*/, const std::string& name, TfOutput /*value*/) {
  throw Error(ErrorKind::internal, fmt::format("tensorflow: constant '{}' does not change", name));
}

TfOutput TfValues::plain(ValueId id) {
  Value& value = values_.at(static_cast<size_t>(id));
  if (value.plain) return value.plain;
  const std::string& name = graph_.values[static_cast<size_t>(id)].name;
  if (const Tensor* constant = constant_of(graph_, id)) return value.plain = constants_.of(scope_, name, *constant, {});
  if (!value.last) throw Error(ErrorKind::internal, fmt::format("tensorflow: value '{}' was not made", name));
  const Shape shape = known_shape(graph_, id);
  return value.plain =
             only_moves_ones(shape) ? scope_.reshape(value.last, shape) : scope_.transpose(value.last, channels_first_order(shape.size()));
}

TfOutput TfValues::channels_last(ValueId id) {
  Value& value = values_.at(static_cast<size_t>(id));
  if (value.last) return value.last;
  return value.last = ordered(id, channels_last_order(known_shape(graph_, id).size()));
}

TfOutput TfValues::ordered(ValueId id, const std::vector<int64_t>& order) {
  if (const Tensor* constant = constant_of(graph_, id))
    return constants_.of(scope_, graph_.values[static_cast<size_t>(id)].name, *constant, order);
  const TfOutput x = plain(id);
  const Shape shape = known_shape(graph_, id);
  if (shape.size() >= 3 && order == channels_last_order(shape.size()) && only_moves_ones(shape))
    return scope_.reshape(x, reordered(shape, order));
  return scope_.transpose(x, order);
}

bool TfValues::is_channels_last(ValueId id) const {
  const Value& value = values_.at(static_cast<size_t>(id));
  return value.last && !value.plain;
}

}  // namespace deepgap
