// Pooling, windowed and global. Sums run in double precision, in the order of memory.
#include "model/eval/operator.h"
#include "model/eval/parallel.h"
#include "model/eval/windows.h"

#include <algorithm>
#include <limits>

namespace deepgap {

namespace {

// The part of a window's taps that lies inside [low, high).
struct Taps {
  int64_t begin, end;
};
Taps taps_inside(const WindowAxis& axis, int64_t window, int64_t low, int64_t high) {
  const int64_t start = axis.start(window);
  Taps taps{0, axis.kernel};
  while (taps.begin < taps.end && start + taps.begin * axis.dilation < low) ++taps.begin;
  while (taps.end > taps.begin && start + (taps.end - 1) * axis.dilation >= high) --taps.end;
  return taps;
}

template <typename F>
Tensor pool_planes(const Tensor& x, const Windows& windows, F window_value) {
  Tensor y = make_tensor(DataType::f32, window_shape(x, windows, windows.channels));
  const int64_t in = windows.rows.input * windows.columns.input, out = windows.rows.output * windows.columns.output;
  const auto from = x.as<float>();
  const auto to = writable<float>(y);
  const double weight = static_cast<double>(out * windows.rows.kernel * windows.columns.kernel);
  parallel_for(windows.batch * windows.channels, weight, [&](int64_t plane) {
    for (int64_t i = 0; i < out; ++i)
      to[plane * out + i] = window_value(from.data() + plane * in, i / windows.columns.output, i % windows.columns.output);
  });
  return y;
}

std::vector<Tensor> max_pool(const Call& call) {
  const Tensor& x = call.input(0);
  call.expect(x, DataType::f32);
  if (call.node.outputs.size() > 1 && call.node.outputs[1] != no_value) call.refuse("the output Indices is not handled here");
  const Windows windows = windows_of(call, x, {});
  const WindowAxis rows = windows.rows, columns = windows.columns;
  return {pool_planes(x, windows, [=](const float* plane, int64_t row, int64_t column) {
    float best = -std::numeric_limits<float>::infinity();
    const Taps down = taps_inside(rows, row, 0, rows.input), across = taps_inside(columns, column, 0, columns.input);
    for (int64_t i = down.begin; i < down.end; ++i) {
      const float* line = plane + (rows.start(row) + i * rows.dilation) * columns.input + columns.start(column);
      for (int64_t j = across.begin; j < across.end; ++j) {
        const float value = line[j * columns.dilation];
        if (value > best || value != value) best = value;
      }
    }
    return best;
  })};
}

std::vector<Tensor> average_pool(const Call& call) {
  const Tensor& x = call.input(0);
  call.expect(x, DataType::f32);
  const bool with_pads = call.int_of("count_include_pad", 0) != 0;
  const Windows windows = windows_of(call, x, {});
  const WindowAxis rows = windows.rows, columns = windows.columns;
  // With ceil_mode the last window may reach past the padding; what lies there never counts.
  const auto size = [with_pads](const WindowAxis& axis, int64_t window, const Taps& inside) {
    if (!with_pads) return inside.end - inside.begin;
    const Taps padded = taps_inside(axis, window, -axis.pad_begin, axis.input + axis.pad_end);
    return padded.end - padded.begin;
  };
  return {pool_planes(x, windows, [=](const float* plane, int64_t row, int64_t column) {
    double sum = 0;
    const Taps down = taps_inside(rows, row, 0, rows.input), across = taps_inside(columns, column, 0, columns.input);
    for (int64_t i = down.begin; i < down.end; ++i) {
      const float* line = plane + (rows.start(row) + i * rows.dilation) * columns.input + columns.start(column);
      for (int64_t j = across.begin; j < across.end; ++j) sum += line[j * columns.dilation];
    }
    return static_cast<float>(sum / static_cast<double>(size(rows, row, down) * size(columns, column, across)));
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

const bool registered[] = {
    add_operator("AveragePool", average_pool),
    add_operator("GlobalAveragePool", global_average_pool),
    add_operator("GlobalMaxPool", global_max_pool),
    add_operator("MaxPool", max_pool),
};

}  // namespace

}  // namespace deepgap
