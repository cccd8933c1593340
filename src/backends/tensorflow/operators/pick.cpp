// Picking and writing elements by indices, and the boxes that do not overlap. ONNX counts negative indices from the end; TensorFlow wants
// them positive.
#include "backends/tensorflow/tf_operator.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

namespace deepgap {
namespace {

using Ints = std::vector<int64_t>;

bool has_negative(const TfCall& call, size_t input) {
  if (!call.is_constant(input)) return true;
  const Ints values = call.integers(input);
  return std::any_of(values.begin(), values.end(), [](int64_t value) { return value < 0; });
}

// Counts negative indices along an axis of `size` from its end.
TfOutput positive(const TfCall& call, size_t input, int64_t size) {
  TfScope& s = call.scope;
  if (!has_negative(call, input)) return call.in(input);
  const TfOutput indices = s.cast(call.in(input), call.type(input) == DataType::i32 ? TfType::i32 : TfType::i64);
  return s.binary("FloorMod", indices, s.number(TfScope::type_of(indices), static_cast<double>(size)));
}

void gather(const TfCall& call) {
  const Shape shape = call.shape(0);
  const int64_t axis = call.axis(call.int_of("axis", 0), shape.size());
  const TfOutput indices = positive(call, 1, shape[static_cast<size_t>(axis)]);
  call.out(0, call.scope.make("GatherV2").in(call.in(0)).in(indices).in(call.scope.index(axis)).out());
}

// Returns for each element named along an axis its number in the flat data: constants hold the other axes' part.
TfOutput places_along(const TfCall& call, const Shape& data, int64_t axis) {
  TfScope& s = call.scope;
  const Shape indices = call.shape(1);
  Ints strides(data.size(), 1);
  for (size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * data[i];
  Tensor base = make_tensor(DataType::i64, indices);
  const auto numbers = writable<int64_t>(base);
  for (size_t n = 0; n < numbers.size(); ++n) {
    auto left = static_cast<int64_t>(n);
    int64_t number = 0;
    for (size_t i = indices.size(); i-- > 0; left /= indices[i])
      if (static_cast<int64_t>(i) != axis) number += left % indices[i] * strides[i];
    numbers[n] = number;
  }
  const TfOutput along = s.cast(positive(call, 1, data[static_cast<size_t>(axis)]), TfType::i64);
  const TfOutput stride = s.number(TfType::i64, static_cast<double>(strides[static_cast<size_t>(axis)]));
  return s.binary("AddV2", s.binary("Mul", along, stride), s.constant(base));
}

void gather_elements(const TfCall& call) {
  TfScope& s = call.scope;
  const Shape shape = call.shape(0);
  const int64_t axis = call.axis(call.int_of("axis", 0), shape.size());
  const TfOutput line = s.reshape(call.in(0), {element_count(shape)});
  call.out(0, s.make("GatherV2").in(line).in(places_along(call, shape, axis)).in(s.index(0)).out());
}

const char* scatter_type(const TfCall& call) {
  const std::string name = call.text_of("reduction", "none");
  if (name == "none") return "TensorScatterUpdate";
  if (name == "add") return "TensorScatterAdd";
  if (name == "max") return "TensorScatterMax";
  if (name == "min") return "TensorScatterMin";
  call.refuse("reduction '" + name + "'");
}

void scatter_elements(const TfCall& call) {
  TfScope& s = call.scope;
  const Shape shape = call.shape(0);
  const int64_t axis = call.axis(call.int_of("axis", 0), shape.size()), count = element_count(call.shape(1));
  const TfOutput places = s.reshape(places_along(call, shape, axis), {count, 1});
  const TfOutput line = s.reshape(call.in(0), {element_count(shape)}), updates = s.reshape(call.in(2), {count});
  call.out(0, s.reshape(s.make(scatter_type(call)).in(line).in(places).in(updates).out(), shape));
}

// Tuples of indices made positive, along the axes that they name.
TfOutput positive_tuples(const TfCall& call, const Shape& data, size_t first) {
  TfScope& s = call.scope;
  const auto& dims = call.graph.values[static_cast<size_t>(call.node.inputs[1])].dims;
  if (!dims || dims->empty() || !dims->back().known()) call.refuse("indices of unknown depth");
  const auto depth = static_cast<size_t>(dims->back().size);
  if (first + depth > data.size()) call.refuse("its indices are deeper than its data");
  const TfOutput indices = s.cast(call.in(1), TfType::i64);
  if (!has_negative(call, 1)) return indices;
  const Ints sizes(data.begin() + static_cast<std::ptrdiff_t>(first), data.begin() + static_cast<std::ptrdiff_t>(first + depth));
  return s.binary("FloorMod", indices, s.cast(s.ints(sizes), TfType::i64));
}

void gather_nd(const TfCall& call) {
  TfScope& s = call.scope;
  const int64_t batches = call.int_of("batch_dims", 0);
  const Shape data = call.shape(0);
  TfOutput tuples = positive_tuples(call, data, static_cast<size_t>(batches));
  if (batches > 0) {  // the batch's own numbers come before each tuple
    Shape shape = call.shape(1);
    shape.back() = batches;
    Tensor own = make_tensor(DataType::i64, shape);
    const auto numbers = writable<int64_t>(own);
    const int64_t rest = element_count(std::span(shape).subspan(static_cast<size_t>(batches)));
    for (size_t n = 0; n < numbers.size(); ++n) {
      int64_t batch = static_cast<int64_t>(n) / rest;
      const auto wanted = static_cast<int64_t>(n) % batches;
      for (int64_t i = batches - 1; i > wanted; --i) batch /= data[static_cast<size_t>(i)];
      numbers[n] = batch % data[static_cast<size_t>(wanted)];
    }
    tuples = s.concat({s.constant(own), tuples}, static_cast<int64_t>(shape.size()) - 1);
  }
  call.out(0, s.binary("GatherNd", call.in(0), tuples));
}

void scatter_nd(const TfCall& call) {
  const Shape data = call.shape(0);
  call.out(0, call.scope.make(scatter_type(call)).in(call.in(0)).in(positive_tuples(call, data, 0)).in(call.in(2)).out());
}

void one_hot(const TfCall& call) {
  TfScope& s = call.scope;
  const double depth = call.number(1);
  const auto rank = static_cast<int64_t>(call.output_shape().size());
  const int64_t axis = call.axis(call.int_of("axis", -1), static_cast<size_t>(rank));
  const TfOutput indices = s.cast(call.in(0), TfType::i64), values = call.in(2);
  const TfOutput raised = s.binary("AddV2", indices, s.number(TfType::i64, depth));
  const TfOutput is_negative = s.binary("Less", indices, s.number(TfType::i64, 0));
  const TfOutput places = s.make("SelectV2").in(is_negative).in(raised).in(indices).out();
  const auto value = [&](int64_t i) { return s.reshape(s.slice(values, {i}, {1}), {}); };
  call.out(0, s.make("OneHot")
                  .in(places)
                  .in(s.index(static_cast<int64_t>(depth)))
                  .in(value(1))
                  .in(value(0))
                  .integer("axis", axis == rank - 1 ? -1 : axis)
                  .out());
}

void trilu(const TfCall& call) {
  TfScope& s = call.scope;
  const Shape shape = call.shape(0);
  if (shape.size() < 2) call.refuse("an input without rows and columns");
  const int64_t rows = shape[shape.size() - 2], columns = shape.back();
  const int64_t diagonal = call.has(1) ? std::clamp<int64_t>(call.integers(1).at(0), -rows, columns) : 0;
  const bool upper = call.int_of("upper", 1) != 0;
  Tensor kept = make_tensor(DataType::boolean, {rows, columns});
  const auto flags = writable<uint8_t>(kept);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      flags[static_cast<size_t>(row * columns + column)] = (upper ? column - row >= diagonal : column - row <= diagonal) ? 1 : 0;
  call.out(0, s.make("SelectV2").in(s.constant(kept)).in(call.in(0)).in(s.unary("ZerosLike", call.in(0))).out());
}

void reverse_sequence(const TfCall& call) {
  const int64_t time_axis = call.int_of("time_axis", 0), batch_axis = call.int_of("batch_axis", 1);
  if (call.shape(0).size() < 2 || time_axis + batch_axis != 1 || time_axis * batch_axis != 0) call.refuse("other axes than 0 and 1");
  call.out(0, call.scope.make("ReverseSequence")
                  .in(call.in(0))
                  .in(call.scope.cast(call.in(1), TfType::i64))
                  .integer("seq_dim", time_axis)
                  .integer("batch_dim", batch_axis)
                  .out());
}

// Corners of the boxes, whichever way they are said.
TfOutput corners(const TfCall& call, TfOutput boxes) {
  TfScope& s = call.scope;
  if (call.int_of("center_point_box", 0) == 0) return boxes;
  const TfOutput parts = s.make("Split").in(s.index(2)).in(boxes).integer("num_split", 4).out();
  const auto part = [&](int i) { return TfOutput{parts.operation, i}; };
  const auto end = [&](const char* type, int place, int size) {
    return s.binary(type, part(place), s.binary("Mul", part(size), s.number(TfType::f32, 0.5)));
  };
  return s.concat({end("Sub", 1, 3), end("Sub", 0, 2), end("AddV2", 1, 3), end("AddV2", 0, 2)}, 2);
}

TfOutput setting(const TfCall& call, size_t input, TfType type, double fallback) {
  return call.has(input) ? call.scope.cast(call.scope.reshape(call.in(input), {}), type) : call.scope.number(type, fallback);
}

// TensorFlow's works on one class of one image: one for each, and their rows one behind the other.
void non_max_suppression(const TfCall& call) {
  TfScope& s = call.scope;
  const Shape shape = call.shape(1);  // [batch, classes, boxes]
  if (shape.size() != 3) call.refuse("scores of other than three dimensions");
  const TfOutput boxes = corners(call, call.in(0)), scores = call.in(1);
  const TfOutput most = setting(call, 2, TfType::i32, 0), overlap = setting(call, 3, TfType::f32, 0);
  const TfOutput least = setting(call, 4, TfType::f32, -std::numeric_limits<double>::infinity());
  std::vector<TfOutput> rows;
  for (int64_t batch = 0; batch < shape[0]; ++batch) {
    const TfOutput own_boxes = s.reshape(s.slice(boxes, {batch, 0, 0}, {1, shape[2], 4}), {shape[2], 4});
    for (int64_t one = 0; one < shape[1]; ++one) {
      const TfOutput own_scores = s.reshape(s.slice(scores, {batch, one, 0}, {1, 1, shape[2]}), {shape[2]});
      const TfOutput kept = s.make("NonMaxSuppressionV3").in(own_boxes).in(own_scores).in(most).in(overlap).in(least).out();
      const TfOutput column = s.make("ExpandDims").in(s.cast(kept, TfType::i64)).in(s.index(1)).out();
      Tensor before = make_tensor(DataType::i32, {2, 2});  // two columns before, with the class and then the image
      const auto pads = writable<int32_t>(before);
      pads[0] = pads[1] = pads[3] = 0;
      pads[2] = 1;
      const TfOutput padding = s.constant(before);
      const TfOutput with_class = s.make("PadV2").in(column).in(padding).in(s.number(TfType::i64, static_cast<double>(one))).out();
      rows.push_back(s.make("PadV2").in(with_class).in(padding).in(s.number(TfType::i64, static_cast<double>(batch))).out());
    }
  }
  call.out(0, s.concat(rows, 0));
}

// Row after row of places in TensorFlow, a row for each axis in ONNX.
void non_zero(const TfCall& call) { call.out(0, call.scope.transpose(call.scope.unary("Where", call.in(0)), {1, 0})); }

const bool registered[] = {
    add_tf_operator("Gather", gather),
    add_tf_operator("GatherElements", gather_elements),
    add_tf_operator("GatherND", gather_nd),
    add_tf_operator("NonMaxSuppression", non_max_suppression),
    add_tf_operator("NonZero", non_zero),
    add_tf_operator("OneHot", one_hot),
    add_tf_operator("ReverseSequence", reverse_sequence),
    add_tf_operator("Scatter", scatter_elements),
    add_tf_operator("ScatterElements", scatter_elements),
    add_tf_operator("ScatterND", scatter_nd),
    add_tf_operator("Trilu", trilu),
};

}  // namespace
}  // namespace deepgap
