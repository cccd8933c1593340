#include "worker/classes.h"

#include "model/eval/element_types.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace deepgap {
namespace {

bool is_real(DataType type) { return type == DataType::f32 || type == DataType::f64 || type == DataType::f16 || type == DataType::bf16; }
bool is_whole(DataType type) { return type == DataType::i64 || type == DataType::i32; }

enum class Kind { scores, label, other, unknown };

// Classifies an output by its sizes after the batch; -1 is a size that is not known.
Kind kind_of(DataType type, std::span<const int64_t> shape) {
  if (shape.empty()) return Kind::other;
  const auto sizes = shape.subspan(1);
  const auto several = std::count_if(sizes.begin(), sizes.end(), [](int64_t size) { return size != 1; });
  if (several > 1) return Kind::other;
  if (several == 0) return is_whole(type) ? Kind::label : Kind::other;
  return is_real(type) ? Kind::scores : Kind::other;
}

// A detector's boxes, a segmenter's map: rows of scores beside them are not classes.
bool is_map(DataType type, std::span<const int64_t> shape) {
  return is_real(type) && shape.size() > 2 && kind_of(type, shape) == Kind::other &&
         std::count_if(shape.begin() + 1, shape.end(), [](int64_t size) { return size != 1; }) > 1;
}

Shape sizes_of(const Dims& dims) {
  Shape shape;
  for (const Dim& dim : dims) shape.push_back(dim.known() ? dim.size : -1);
  return shape;
}

const TensorView* first_of(Kind kind, std::span<const TensorView> outputs) {
  for (const TensorView& output : outputs) {
    if (is_map(output.type, output.shape)) return nullptr;
  }
  const auto found = std::find_if(outputs.begin(), outputs.end(), [&](const auto& o) { return kind_of(o.type, o.shape) == kind; });
  return found == outputs.end() ? nullptr : &*found;
}

// One row, converted.
Tensor row_of(const TensorView& output, size_t row, DataType type) {
  Shape shape(output.shape.begin() + 1, output.shape.end());
  Tensor item = make_tensor(output.type, shape);
  std::memcpy(writable<std::byte>(item).data(), output.data + row * item.bytes(), item.bytes());
  return converted(item, type);
}

}  // namespace

std::optional<int64_t> class_count(std::span<const TensorInfo> outputs) {
  int64_t classes = -1;
  bool open = false;
  for (const TensorInfo& output : outputs) {
    if (!output.dims) {
      open = true;
      continue;
    }
    const Shape shape = sizes_of(*output.dims);
    if (is_map(output.type, shape)) return std::nullopt;
    const Kind kind = kind_of(output.type, shape);
    if (kind == Kind::label) open = true;
    if (kind != Kind::scores || classes >= 0) continue;
    const auto size = std::find_if(shape.begin() + 1, shape.end(), [](int64_t length) { return length != 1; });
    classes = std::max<int64_t>(*size, 0);
  }
  if (classes >= 0) return classes;
  return open ? std::optional<int64_t>(0) : std::nullopt;
}

std::vector<int64_t> best_classes(std::span<const TensorView> outputs, size_t row, size_t most) {
  if (const TensorView* scores = first_of(Kind::scores, outputs)) {
    const Tensor item = row_of(*scores, row, DataType::f32);
    const auto values = item.as<float>();
    std::vector<int64_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    most = std::min(most, order.size());
    const auto better = [&](int64_t a, int64_t b) {
      const float left = values[static_cast<size_t>(a)], right = values[static_cast<size_t>(b)];
      return left > right || (left == right && a < b);
    };
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(), better);
    order.resize(most);
    return order;
  }
  if (const TensorView* label = first_of(Kind::label, outputs)) return {row_of(*label, row, DataType::i64).as<int64_t>()[0]};
  return {};
}

}  // namespace deepgap
