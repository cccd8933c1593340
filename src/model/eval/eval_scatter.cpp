// Operators that write elements at indices into a copy of their input.
#include "model/eval/element_types.h"
#include "model/eval/indexing.h"
#include "model/eval/operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace deepgap {
namespace {

enum class Reduction { none, add, mul, max, min };

Reduction reduction_of(const Call& call) {
  const std::string name = call.text_of("reduction", "none");
  constexpr std::pair<const char*, Reduction> all[] = {
      {"none", Reduction::none}, {"add", Reduction::add}, {"mul", Reduction::mul}, {"max", Reduction::max}, {"min", Reduction::min}};
  for (const auto& [known, reduction] : all)
    if (name == known) return reduction;
  call.fail("reduction '" + name + "' does not exist");
}

template <typename T>
T combined(T a, T b, Reduction reduction) {
  switch (reduction) {
    case Reduction::add:
      return static_cast<T>(a + b);
    case Reduction::mul:
      return static_cast<T>(a * b);
    case Reduction::max:
      return std::max(a, b);
    case Reduction::min:
      return std::min(a, b);
    default:
      return b;
  }
}
// Rounded after each step, as one that stores halves does.
Half combined(Half a, Half b, Reduction reduction) { return to_half(combined(to_float(a), to_float(b), reduction)); }

// Slices of `elements` elements of `updates`, one after the other, into `y` at `offsets`.
struct Writes {
  const std::vector<int64_t>& offsets;
  int64_t elements;
  const Tensor& updates;
  Reduction reduction;
};

template <typename T>
void reduce_into(Tensor& y, const Writes& writes) {
  const std::span<T> to = writable<T>(y);
  const T* from = writes.updates.as<T>().data();
  for (const int64_t offset : writes.offsets)
    for (int64_t i = 0; i < writes.elements; ++i, ++from) {
      T& element = to[static_cast<size_t>(offset + i)];
      element = combined(element, *from, writes.reduction);
    }
}

void copy_into(Tensor& y, const Writes& writes) {
  const auto size = static_cast<int64_t>(byte_size(y.type));
  const std::byte* from = writes.updates.data.get();
  for (const int64_t offset : writes.offsets) {
    std::memcpy(writable<std::byte>(y).data() + offset * size, from, static_cast<size_t>(writes.elements * size));
    from += writes.elements * size;
  }
}

void reduce_into(const Call& call, Tensor& y, const Writes& writes) {
  bool known = false;
  with_type(y.type, [&]<typename T>(T) {
    if constexpr (std::is_same_v<T, Half> || (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)) {
      reduce_into<T>(y, writes);
      known = true;
    }
  });
  if (!known) call.refuse(fmt::format("a reduction of {} is not handled here", name_of(y.type)));
}

std::vector<Tensor> scattered(const Call& call, const std::vector<int64_t>& offsets, int64_t elements) {
  const Tensor& x = call.input(0);
  const Tensor& updates = call.input(2);
  if (updates.type != x.type) call.fail("data and updates are of different types");
  if (product_of(updates.shape) != static_cast<int64_t>(offsets.size()) * elements) call.fail("the updates do not fill the indices");
  Tensor y = make_tensor(x.type, x.shape);
  std::memcpy(writable<std::byte>(y).data(), x.data.get(), x.bytes());
  const Writes writes{offsets, elements, updates, reduction_of(call)};
  if (writes.reduction == Reduction::none)
    copy_into(y, writes);
  else
    reduce_into(call, y, writes);
  return {y};
}

// Scatter is its name to opset 10.
std::vector<Tensor> scatter_elements(const Call& call) {
  const Shape& shape = call.input(0).shape;
  const auto axis = static_cast<size_t>(call.axis(call.int_of("axis", 0), shape.size()));
  return scattered(call, element_offsets(call, shape, 1, axis), 1);
}

std::vector<Tensor> scatter_nd(const Call& call) {
  const SliceOffsets slices = slice_offsets(call, call.input(0).shape, 1, 0);
  return scattered(call, slices.offsets, slices.elements);
}

const bool registered[] = {
    add_operator("Scatter", scatter_elements),
    add_operator("ScatterElements", scatter_elements),
    add_operator("ScatterND", scatter_nd),
};

}  // namespace
}  // namespace deepgap
