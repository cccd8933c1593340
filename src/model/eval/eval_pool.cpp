// Pooling in one to three dimensions, windowed and global. Sums run in double precision, in the order of memory. LpPool with a power other
// than 1 and 2 goes through the C library (see eval_unary.cpp).
#include "model/eval/operator.h"
#include "model/eval/parallel.h"
#include "model/eval/widened.h"
#include "model/eval/windows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace deepgap {

namespace {

// The part of a window's taps that lies inside [low, high).
struct Taps {
  int64_t begin, end;
  int64_t count() const { return end - begin; }
};
Taps taps_inside(const WindowAxis& axis, int64_t window, int64_t low, int64_t high) {
  const int64_t start = axis.start(window);
  Taps taps{0, axis.kernel};
  while (taps.begin < taps.end && start + taps.begin * axis.dilation < low) ++taps.begin;
  while (taps.end > taps.begin && start + (taps.end - 1) * axis.dilation >= high) --taps.end;
  return taps;
}
Taps taps_inside(const WindowAxis& axis, int64_t window) { return taps_inside(axis, window, 0, axis.input); }
// Taps in the padding count, too; with ceil_mode the last window may reach past it, and what lies there never counts.
Taps taps_padded(const WindowAxis& axis, int64_t window) { return taps_inside(axis, window, -axis.pad_begin, axis.input + axis.pad_end); }

// One window over one plane of the input.
template <typename T>
struct Window {
  const SlidingWindows& windows;
  const T* plane;
  WindowPlace place;

  // Each element inside the input, in the order of memory, with its place in the plane.
  template <typename F>
  void each_place(F visit) const {
    const auto& [batch, channels, slices, rows, columns] = windows;
    const Taps deep = taps_inside(slices, place.slice), down = taps_inside(rows, place.row), across = taps_inside(columns, place.column);
    for (int64_t k = deep.begin; k < deep.end; ++k)
      for (int64_t i = down.begin; i < down.end; ++i) {
        const int64_t line = (slices.start(place.slice) + k * slices.dilation) * rows.input + rows.start(place.row) + i * rows.dilation;
        const int64_t first = line * columns.input + columns.start(place.column);
        for (int64_t j = across.begin; j < across.end; ++j) visit(plane[first + j * columns.dilation], first + j * columns.dilation);
      }
  }
  template <typename F>
  void each(F visit) const {
    each_place([&](T value, int64_t /*place*/) { visit(value); });
  }
  int64_t count(bool with_pads) const {
    const auto inside = [&](const WindowAxis& axis, int64_t at) {
      return (with_pads ? taps_padded(axis, at) : taps_inside(axis, at)).count();
    };
    return inside(windows.slices, place.slice) * inside(windows.rows, place.row) * inside(windows.columns, place.column);
  }
};

template <typename T, typename F>
Tensor pool_as(const Call& call, F window_value) {
  const Tensor& x = call.input(0);
  const SlidingWindows windows = windows_of(call, x, {});
  Tensor y = make_tensor(x.type, window_shape(x, windows, windows.channels));
  const int64_t in = windows.input_size(), out = windows.output_size();
  const auto from = x.as<T>();
  const auto to = writable<T>(y);
  parallel_for(windows.batch * windows.channels, static_cast<double>(out * windows.taps()), [&](int64_t plane) {
    for (int64_t i = 0; i < out; ++i)
      to[plane * out + i] = window_value(Window<T>{windows, from.data() + plane * in, output_place(windows, i)});
  });
  return y;
}

template <typename T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  return false;
}

template <typename T>
Tensor max_pool_as(const Call& call) {
  return pool_as<T>(call, [](const Window<T>& window) {
    T best = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
    window.each([&](T value) {
      if (value > best || is_nan(value)) best = value;
    });
    return best;
  });
}

// Where in the whole input each maximum lies, the first of equal ones; in a window of padding alone it is the plane's first element. With
// storage_order 1 a plane's elements are counted with the first of its axes running fastest.
template <typename T>
Tensor max_places_as(const Call& call) {
  const Tensor& x = call.input(0);
  const SlidingWindows windows = windows_of(call, x, {});
  const bool turned = call.int_of("storage_order", 0) != 0;
  const int64_t in = windows.input_size(), out = windows.output_size(), rows = windows.rows.input, columns = windows.columns.input;
  Tensor y = make_tensor(DataType::i64, window_shape(x, windows, windows.channels));
  const auto to = writable<int64_t>(y);
  parallel_for(windows.batch * windows.channels, static_cast<double>(out * windows.taps()), [&](int64_t plane) {
    for (int64_t i = 0; i < out; ++i) {
      const Window<T> window{windows, x.as<T>().data() + plane * in, output_place(windows, i)};
      int64_t at = -1;
      window.each_place([&](T value, int64_t place) {
        if (at < 0 || value > window.plane[at] || is_nan(value)) at = place;
      });
      at = std::max<int64_t>(at, 0);
      if (turned) at = (at % columns * rows + at / columns % rows) * windows.slices.input + at / (columns * rows);
      to[plane * out + i] = plane * in + at;
    }
  });
  return y;
}

template <typename T>
std::vector<Tensor> max_pool_of(const Call& call) {
  std::vector<Tensor> results{max_pool_as<T>(call)};
  if (call.node.outputs.size() > 1 && call.node.outputs[1] != no_value) results.push_back(max_places_as<T>(call));
  return results;
}

std::vector<Tensor> max_pool(const Call& call) {
  const Tensor& x = call.input(0);
  if (x.type == DataType::f64) return max_pool_of<double>(call);
  if (x.type == DataType::i8) return max_pool_of<int8_t>(call);
  if (x.type == DataType::u8) return max_pool_of<uint8_t>(call);
  call.expect(x, DataType::f32);
  return max_pool_of<float>(call);
}

std::vector<Tensor> average_pool(const Call& call) {
  call.expect(call.input(0), DataType::f32);
  const bool with_pads = call.int_of("count_include_pad", 0) != 0;
  return {pool_as<float>(call, [=](const Window<float>& window) {
    double sum = 0;
    window.each([&](float value) { sum += value; });
    return static_cast<float>(sum / static_cast<double>(window.count(with_pads)));
  })};
}

// The p-norm of numbers that are added one by one.
class Norm {
 public:
  explicit Norm(const Call& call) : p_(call.int_of("p", 2)) {
    if (p_ < 1) call.fail("p is not positive");
  }
  void add(double value) {
    sum_ += p_ == 1 ? std::abs(value) : p_ == 2 ? value * value : std::pow(std::abs(value), static_cast<double>(p_));
  }
  float value() const {
    return static_cast<float>(p_ == 1 ? sum_ : p_ == 2 ? std::sqrt(sum_) : std::pow(sum_, 1.0 / static_cast<double>(p_)));
  }

 private:
  int64_t p_;
  double sum_ = 0;
};

std::vector<Tensor> lp_pool(const Call& call) {
  call.expect(call.input(0), DataType::f32);
  const Norm none(call);
  return {pool_as<float>(call, [=](const Window<float>& window) {
    Norm norm = none;
    window.each([&](float value) { norm.add(value); });
    return norm.value();
  })};
}

template <typename F>
std::vector<Tensor> global_pool(const Call& call, F plane_value) {
  const Tensor& x = call.input(0);
  call.expect(x, DataType::f32);
  if (x.shape.size() < 3) call.fail("the input has no spatial dimensions");
  Shape shape(x.shape.size(), 1);
  shape[0] = x.shape[0], shape[1] = x.shape[1];
  const int64_t planes = shape[0] * shape[1];
  const int64_t size = product_of(std::span(x.shape).subspan(2));
  if (size == 0) call.fail("the input has no pixels");
  Tensor y = make_tensor(DataType::f32, shape);
  const auto from = x.as<float>();
  const auto to = writable<float>(y);
  parallel_for(planes, static_cast<double>(size), [&](int64_t plane) { to[plane] = plane_value(from.subspan(plane * size, size)); });
  return {y};
}

std::vector<Tensor> global_average_pool(const Call& call) {
  return global_pool(call, [](std::span<const float> plane) {
    double sum = 0;
    for (float value : plane) sum += value;
    return static_cast<float>(sum / static_cast<double>(plane.size()));
  });
}

std::vector<Tensor> global_max_pool(const Call& call) {
  return global_pool(call, [](std::span<const float> plane) { return *std::max_element(plane.begin(), plane.end()); });
}

std::vector<Tensor> global_lp_pool(const Call& call) {
  const Norm none(call);
  return global_pool(call, [=](std::span<const float> plane) {
    Norm norm = none;
    for (float value : plane) norm.add(value);
    return norm.value();
  });
}

const bool registered[] = {
    add_operator("AveragePool", widened<average_pool>),
    add_operator("GlobalAveragePool", widened<global_average_pool>),
    add_operator("GlobalLpPool", widened<global_lp_pool>),
    add_operator("GlobalMaxPool", widened<global_max_pool>),
    add_operator("LpPool", widened<lp_pool>),
    add_operator("MaxPool", widened<max_pool>),
};

}  // namespace

}  // namespace deepgap
