// Operators that only move values: any element type.
#include "model/eval/operator.h"
#include "model/eval/rearrange.h"
#include "model/eval/strided.h"
#include "model/slicing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace deepgap {

namespace {

std::byte* bytes_of(Tensor& tensor) { return writable<std::byte>(tensor).data(); }
int64_t element_bytes(const Tensor& tensor) { return static_cast<int64_t>(byte_size(tensor.type)); }

std::vector<Tensor> transpose(const Call& call) {
  const Tensor& x = call.input(0);
  std::vector<int64_t> order(x.shape.size());
  std::iota(order.rbegin(), order.rend(), 0);
  order = call.ints_of("perm", order);
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted.size() != x.shape.size() || sorted[i] != static_cast<int64_t>(i)) call.fail("perm does not name every axis once");
  return {transposed(x, x.shape, order)};
}

std::vector<Tensor> concat(const Call& call) {
  const Tensor& first = call.input(0);
  const auto axis = static_cast<size_t>(call.axis(call.int_of("axis", 1), first.shape.size()));
  Shape shape = first.shape;
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    Shape other = call.input(i).shape;
    if (other.size() != shape.size() || call.input(i).type != first.type) call.fail("inputs differ in rank or type");
    shape[axis] += std::exchange(other[axis], first.shape[axis]);
    if (other != first.shape) call.fail("inputs differ in another axis than the joined one");
  }
  Tensor y = make_tensor(first.type, shape);
  const std::span<const int64_t> sizes(shape);
  const int64_t outer = product_of(sizes.first(axis)), inner = product_of(sizes.subspan(axis + 1)) * element_bytes(first);
  int64_t at = 0;
  for (const Tensor& part : call.inputs) {
    const int64_t length = part.shape[axis] * inner;
    for (int64_t i = 0; i < outer && length > 0; ++i)
      std::memcpy(bytes_of(y) + i * shape[axis] * inner + at, part.data.get() + i * length, static_cast<size_t>(length));
    at += length;
  }
  return {y};
}

std::vector<int64_t> split_sizes(const Call& call, int64_t size) {
  const auto parts = static_cast<int64_t>(call.node.outputs.size());
  const int64_t each = (size + parts - 1) / parts;
  std::vector<int64_t> equal(parts);  // the last are smaller, or empty
  for (int64_t i = 0; i < parts; ++i) equal[i] = std::clamp<int64_t>(size - i * each, 0, each);
  auto sizes = call.ints_or_input("split", 1, equal);
  const bool negative = std::any_of(sizes.begin(), sizes.end(), [](int64_t part) { return part < 0; });
  if (negative || static_cast<int64_t>(sizes.size()) != parts || std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) != size)
    call.fail(fmt::format("the parts do not add up to {}", size));
  return sizes;
}

std::vector<Tensor> split_tensor(const Call& call) {
  const Tensor& x = call.input(0);
  const auto axis = static_cast<size_t>(call.axis(call.int_of("axis", 0), x.shape.size()));
  const std::span<const int64_t> all(x.shape);
  const int64_t outer = product_of(all.first(axis)), inner = product_of(all.subspan(axis + 1)) * element_bytes(x);
  std::vector<Tensor> parts;
  int64_t at = 0;
  for (int64_t size : split_sizes(call, x.shape[axis])) {
    Shape shape = x.shape;
    shape[axis] = size;
    Tensor part = make_tensor(x.type, shape);
    for (int64_t i = 0; i < outer; ++i)
      std::memcpy(bytes_of(part) + i * size * inner, x.data.get() + (i * x.shape[axis] + at) * inner, static_cast<size_t>(size * inner));
    parts.push_back(part);
    at += size;
  }
  return parts;
}

std::vector<Tensor> slice(const Call& call) {
  const Tensor& x = call.input(0);
  const auto starts = call.ints_or_input("starts", 1, {}), ends = call.ints_or_input("ends", 2, {});
  std::vector<int64_t> axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = call.ints_or_input("axes", 3, axes);
  const auto steps = call.has(4) ? call.integers(4) : std::vector<int64_t>(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    call.fail("starts, ends, axes and steps differ in length");
  Shape shape = x.shape;
  std::vector<int64_t> strides = row_major_strides(x.shape);
  int64_t offset = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t axis = call.axis(axes[i], x.shape.size());
    if (steps[i] == 0) call.fail("a step is 0");
    const SliceRange range = slice_range(x.shape[axis], starts[i], ends[i], steps[i]);
    shape[axis] = range.count;
    offset += range.begin * strides[axis];
    strides[axis] *= range.step;
  }
  Tensor y = make_tensor(x.type, shape);
  if (product_of(shape) > 0)
    copy_strided(shape, byte_size(x.type), {x.data.get() + offset * element_bytes(x), strides}, {bytes_of(y), row_major_strides(shape)});
  return {y};
}

std::vector<Tensor> expand(const Call& call) {
  const Tensor& x = call.input(0);
  const Shape shape = broadcast_shape(call, x.shape, call.integers(1));
  call.expect_possible(shape);
  Tensor y = make_tensor(x.type, shape);
  copy_strided(shape, byte_size(x.type), {x.data.get(), broadcast_strides(x.shape, shape)}, {bytes_of(y), row_major_strides(shape)});
  return {y};
}

std::vector<Tensor> where(const Call& call) {
  const Tensor& condition = call.input(0);
  const Tensor& yes = call.input(1);
  const Tensor& no = call.input(2);
  call.expect(condition, DataType::boolean);
  if (yes.type != no.type) call.fail("the two choices are of different types");
  const Shape shape = broadcast_shape(call, broadcast_shape(call, condition.shape, yes.shape), no.shape);
  const auto spread = [&](const Tensor& tensor) {
    Tensor whole = make_tensor(tensor.type, shape);
    copy_strided(shape, byte_size(tensor.type), {tensor.data.get(), broadcast_strides(tensor.shape, shape)},
                 {bytes_of(whole), row_major_strides(shape)});
    return whole;
  };
  const Tensor choose = spread(condition), other = spread(no);
  Tensor y = spread(yes);
  const int64_t size = element_bytes(y);
  for (int64_t i = 0; i < product_of(shape); ++i)
    if (choose.as<uint8_t>()[i] == 0) std::memcpy(bytes_of(y) + i * size, other.data.get() + i * size, static_cast<size_t>(size));
  return {y};
}

const bool registered[] = {
    add_operator("Concat", concat),      add_operator("Expand", expand),       add_operator("Slice", slice),
    add_operator("Split", split_tensor), add_operator("Transpose", transpose), add_operator("Where", where),
};

}  // namespace

}  // namespace deepgap
