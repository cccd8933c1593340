// Picking and writing elements by indices. ONNX counts negative indices from the end; ATen wants them positive.
#include "backends/libtorch/step_integers.h"
#include "backends/libtorch/torch_operator.h"

#include <ATen/ops/add.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/index_add.h>
#include <ATen/ops/index_copy.h>
#include <ATen/ops/index_reduce.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/scatter.h>
#include <ATen/ops/scatter_reduce.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/tril.h>
#include <ATen/ops/triu.h>
#include <ATen/ops/where.h>

#include <algorithm>

namespace deepgap {
namespace {

using Ints = std::vector<int64_t>;

at::Tensor positive(const at::Tensor& indices, int64_t size) { return at::remainder(indices.to(at::kLong), size); }

TorchStep gather(const TorchCall& call) {
  const int64_t axis = call.axis(call.int_of("axis", 0), call.rank(0));
  return one_output([axis](const TorchFrame& frame) {
    const at::Tensor &data = frame.in(0), &indices = frame.in(1);
    Ints result = data.sizes().vec();
    const auto place = result.erase(result.begin() + axis);
    result.insert(place, indices.sizes().begin(), indices.sizes().end());
    return at::index_select(data, axis, positive(indices.reshape({-1}), data.size(axis))).reshape(result);
  });
}

TorchStep gather_elements(const TorchCall& call) {
  const int64_t axis = call.axis(call.int_of("axis", 0), call.rank(0));
  return one_output(
      [axis](const TorchFrame& frame) { return at::gather(frame.in(0), axis, positive(frame.in(1), frame.in(0).size(axis))); });
}

// ATen's names for ONNX's reductions; "" for none.
std::string reduction_of(const TorchCall& call, const char* sum) {
  const std::string name = call.text_of("reduction", "none");
  if (name == "none") return "";
  if (name == "add") return sum;
  if (name == "mul") return "prod";
  if (name == "max") return "amax";
  if (name == "min") return "amin";
  call.refuse("reduction '" + name + "'");
}

// Autocast may have computed one of both in another type.
at::Tensor updates_of(const TorchFrame& frame) { return frame.in(2).to(frame.in(0).scalar_type()); }

TorchStep scatter_elements(const TorchCall& call) {
  const Shape shape = call.shape(0);
  const int64_t axis = call.axis(call.int_of("axis", 0), shape.size()), size = shape[static_cast<size_t>(axis)];
  const std::string reduction = reduction_of(call, "sum");
  return one_output([=](const TorchFrame& frame) {
    const at::Tensor places = positive(frame.in(1), size), updates = updates_of(frame);
    return reduction.empty() ? at::scatter(frame.in(0), axis, places, updates)
                             : at::scatter_reduce(frame.in(0), axis, places, updates, reduction, true);
  });
}

// Data as rows that tuples of indices name: GatherND and ScatterND.
struct Rows {
  int64_t batches, per_batch, elements;  // elements of a row
  int64_t tuples;                        // tuples in a batch
  at::Tensor sizes, strides;             // sizes and strides of the axes that a tuple names
};

Rows rows_of(const TorchCall& call, int64_t batch_dims) {
  const Shape data = call.shape(0), indices = call.shape(1);
  if (indices.empty() || batch_dims < 0 || batch_dims >= static_cast<int64_t>(indices.size()) ||
      batch_dims + indices.back() > static_cast<int64_t>(data.size()))
    call.refuse("its indices are deeper than its data");
  const auto first = data.begin() + batch_dims, last = first + indices.back();
  const Ints named(first, last);
  Ints strides(named.size(), 1);
  for (size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * named[i];
  const int64_t tuples = element_count(Ints(indices.begin() + batch_dims, indices.end() - 1));
  const auto on_device = [&](const Ints& values) { return at::tensor(values, at::kLong).to(call.target.device); };
  return {element_count(Ints(data.begin(), first)),
          element_count(named),
          element_count(Ints(last, data.end())),
          tuples,
          on_device(named),
          on_device(strides)};
}

at::Tensor row_numbers(const Rows& rows, const at::Tensor& indices) {
  const at::Tensor tuples = indices.to(at::kLong).reshape({rows.batches, rows.tuples, rows.sizes.numel()});
  const at::Tensor inside = at::sum(at::mul(at::remainder(tuples, rows.sizes), rows.strides), {2});
  const at::Tensor batch = at::mul(at::arange(rows.batches, tuples.options()), rows.per_batch);
  return at::add(inside, batch.unsqueeze(1)).reshape({-1});
}

TorchStep gather_nd(const TorchCall& call) {
  const Rows rows = rows_of(call, call.int_of("batch_dims", 0));
  const Shape result = call.output_shape();
  return one_output([=](const TorchFrame& frame) {
    const at::Tensor data = frame.in(0).reshape({rows.batches * rows.per_batch, rows.elements});
    return at::index_select(data, 0, row_numbers(rows, frame.in(1))).reshape(result);
  });
}

TorchStep scatter_nd(const TorchCall& call) {
  const Rows rows = rows_of(call, 0);
  const Shape shape = call.shape(0);
  const std::string reduction = reduction_of(call, "add");
  return one_output([=](const TorchFrame& frame) {
    const at::Tensor data = frame.in(0).reshape({rows.per_batch, rows.elements}), places = row_numbers(rows, frame.in(1));
    const at::Tensor updates = updates_of(frame).reshape({rows.tuples, rows.elements});
    const TorchNoAutocast plain;
    if (reduction.empty()) return at::index_copy(data, 0, places, updates).reshape(shape);
    if (reduction == "add") return at::index_add(data, 0, places, updates).reshape(shape);
    return at::index_reduce(data, 0, places, updates, reduction, true).reshape(shape);
  });
}

TorchStep one_hot(const TorchCall& call) {
  const auto depth = static_cast<int64_t>(call.number(1));
  const Shape result = call.output_shape();
  const int64_t axis = call.axis(call.int_of("axis", -1), result.size());
  Shape along(result.size(), 1);
  along[static_cast<size_t>(axis)] = depth;
  return one_output([=](const TorchFrame& frame) {
    const at::Tensor indices = frame.in(0).to(at::kLong), &values = frame.in(2);
    const at::Tensor places = at::where(at::lt(indices, 0), at::add(indices, depth), indices).unsqueeze(axis);
    const at::Tensor found = at::eq(places, at::arange(depth, places.options()).reshape(along));
    return at::where(found, values.select(0, 1), values.select(0, 0));
  });
}

TorchStep trilu(const TorchCall& call) {
  if (call.rank(0) < 2) call.refuse("an input without rows and columns");
  const StepIntegers given = call.has(1) ? StepIntegers(call, 1) : StepIntegers(Ints{0});
  const bool upper = call.int_of("upper", 1) != 0;
  return one_output([=](const TorchFrame& frame) {
    const at::Tensor& x = frame.in(0);
    const int64_t diagonal = std::clamp<int64_t>(given.of(frame).at(0), -x.size(-2), x.size(-1));
    return upper ? at::triu(x, diagonal) : at::tril(x, diagonal);
  });
}

TorchStep reverse_sequence(const TorchCall& call) {
  const Shape shape = call.shape(0);
  const int64_t time_axis = call.int_of("time_axis", 0), batch_axis = call.int_of("batch_axis", 1);
  if (shape.size() < 2 || time_axis + batch_axis != 1 || time_axis * batch_axis != 0) call.refuse("other axes than 0 and 1");
  Shape spread(shape.size(), 1);
  spread[0] = shape[0], spread[1] = shape[1];
  return one_output([=](const TorchFrame& frame) {
    const at::Tensor lengths = frame.in(1).to(at::kLong).unsqueeze(time_axis);
    const at::Tensor steps = at::arange(shape[static_cast<size_t>(time_axis)], lengths.options()).unsqueeze(batch_axis);
    const at::Tensor from = at::where(at::lt(steps, lengths), at::sub(at::sub(lengths, steps), 1), steps);
    return at::gather(frame.in(0), time_axis, from.reshape(spread).expand(shape));
  });
}

const bool registered[] = {
    add_torch_operator("Gather", gather),
    add_torch_operator("GatherElements", gather_elements),
    add_torch_operator("GatherND", gather_nd),
    add_torch_operator("OneHot", one_hot),
    add_torch_operator("ReverseSequence", reverse_sequence),
    add_torch_operator("Scatter", scatter_elements),
    add_torch_operator("ScatterElements", scatter_elements),
    add_torch_operator("ScatterND", scatter_nd),
    add_torch_operator("Trilu", trilu),
};

}  // namespace
}  // namespace deepgap
