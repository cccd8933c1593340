// Integers in place of numbers, as quantizers write them where ranges are only known when the network runs: DynamicQuantizeLinear,
// MatMulInteger, ConvInteger. Everything is exact but DynamicQuantizeLinear's divisions in float32.
#include "model/eval/evaluator.h"
#include "model/eval/operator.h"
#include "model/eval/parallel.h"
#include "model/eval/strided.h"
#include "model/eval/windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {

namespace {

// Quantizes to u8 so that 0 is a level: scale and zero point follow the range of the input.
std::vector<Tensor> dynamic_quantize_linear(const Call& call) {
  const Tensor& x = call.input(0);
  call.expect(x, DataType::f32);
  const auto from = x.as<float>();
  float low = 0, high = 0;
  for (float value : from) low = std::min(low, value), high = std::max(high, value);
  const float scale = low == high ? 1.0f : (high - low) / 255.0f;
  const float zero = std::nearbyint(std::clamp(-low / scale, 0.0f, 255.0f));
  Tensor y = make_tensor(DataType::u8, x.shape), scales = make_tensor(DataType::f32, {}), zeros = make_tensor(DataType::u8, {});
  std::ranges::transform(from, writable<uint8_t>(y).begin(),
                         [=](float value) { return static_cast<uint8_t>(std::clamp(std::nearbyint(value / scale) + zero, 0.0f, 255.0f)); });
  writable<float>(scales)[0] = scale;
  writable<uint8_t>(zeros)[0] = static_cast<uint8_t>(zero);
  return {y, scales, zeros};
}

// 8-bit integers less their zero points, which have one value or broadcast to `input`'s shape as `zero_shape`.
std::vector<int32_t> centered(const Call& call, size_t input, size_t zero_input, const Shape& zero_shape) {
  const Tensor& x = call.input(input);
  const auto values_of = [&](const Tensor& tensor) {
    if (tensor.type == DataType::u8) return std::vector<int32_t>(tensor.as<uint8_t>().begin(), tensor.as<uint8_t>().end());
    call.expect(tensor, DataType::i8);
    return std::vector<int32_t>(tensor.as<int8_t>().begin(), tensor.as<int8_t>().end());
  };
  std::vector<int32_t> values = values_of(x);
  if (!call.has(zero_input)) return values;
  call.expect(call.input(zero_input), x.type);
  const std::vector<int32_t> zeros = values_of(call.input(zero_input));
  if (zeros.size() == 1) {
    for (int32_t& value : values) value -= zeros[0];
    return values;
  }
  if (static_cast<size_t>(product_of(zero_shape)) != zeros.size() || broadcast_shape(call, zero_shape, x.shape) != x.shape)
    call.fail(fmt::format("input {} has {} zero points", input, zeros.size()));
  std::vector<int32_t> spread(values.size());
  copy_strided(x.shape, sizeof(int32_t), {reinterpret_cast<const std::byte*>(zeros.data()), broadcast_strides(zero_shape, x.shape)},
               {reinterpret_cast<std::byte*>(spread.data()), row_major_strides(x.shape)});
  for (size_t i = 0; i < values.size(); ++i) values[i] -= spread[i];
  return values;
}

Tensor integers(const Shape& shape, const std::vector<int32_t>& values) {
  Tensor tensor = make_tensor(DataType::i32, shape);
  std::ranges::copy(values, writable<int32_t>(tensor).begin());
  return tensor;
}

// One zero point, one for each row of A, one for each column of B.
std::vector<Tensor> matmul_integer(const Call& call) {
  Shape rows = call.has(2) ? call.input(2).shape : Shape{};
  if (rows.size() == 1) rows.push_back(1);
  const Shape columns = call.has(3) ? call.input(3).shape : Shape{};
  const Tensor inputs[] = {integers(call.input(0).shape, centered(call, 0, 2, rows)),
                           integers(call.input(1).shape, centered(call, 1, 3, columns))};
  Node product = call.node;
  product.op = "MatMul";
  return evaluate_node(call.graph, product, inputs);
}

// One zero point of x; one of w, or one for each output channel.
std::vector<Tensor> conv_integer(const Call& call) {
  const Tensor& x = call.input(0);
  const Tensor& weight = call.input(1);
  if (weight.shape.size() != x.shape.size() || x.shape.size() < 3) call.fail("input and weight do not have the same rank of 3 or more");
  const std::vector<int64_t> kernel(weight.shape.begin() + 2, weight.shape.end());
  const SlidingWindows windows = windows_of(call, x, kernel);
  const int64_t groups = call.int_of("group", 1), outputs = weight.shape[0], group_inputs = weight.shape[1];
  if (groups < 1 || windows.channels != group_inputs * groups || outputs % groups != 0)
    call.fail(fmt::format("{} channels in {} groups do not fit a weight of {} x {}", windows.channels, groups, outputs, group_inputs));
  Shape per_output(weight.shape.size(), 1);
  per_output[0] = outputs;
  const auto from = centered(call, 0, 2, {}), weights = centered(call, 1, 3, per_output);
  Tensor y = make_tensor(DataType::i32, window_shape(x, windows, outputs));
  const auto to = writable<int32_t>(y);
  const int64_t pixels = windows.output_size(), taps = windows.taps();
  const auto inside = [](const WindowAxis& axis, int64_t at) { return at >= 0 && at < axis.input; };
  const auto sum_at = [&](int64_t image, int64_t output, const WindowPlace& place) {
    int32_t sum = 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const WindowPlace in = tap_place(windows, tap);
      const int64_t slice = windows.slices.start(place.slice) + in.slice * windows.slices.dilation;
      const int64_t row = windows.rows.start(place.row) + in.row * windows.rows.dilation;
      const int64_t column = windows.columns.start(place.column) + in.column * windows.columns.dilation;
      if (!inside(windows.slices, slice) || !inside(windows.rows, row) || !inside(windows.columns, column)) continue;
      const int64_t at = (slice * windows.rows.input + row) * windows.columns.input + column;
      const int64_t first = image * windows.channels + output / (outputs / groups) * group_inputs;
      for (int64_t c = 0; c < group_inputs; ++c)
        sum += from[static_cast<size_t>((first + c) * windows.input_size() + at)] *
               weights[static_cast<size_t>((output * group_inputs + c) * taps + tap)];
    }
    return sum;
  };
  parallel_for(windows.batch * outputs, static_cast<double>(pixels * taps * group_inputs) * 2, [&](int64_t plane) {
    for (int64_t i = 0; i < pixels; ++i) to[plane * pixels + i] = sum_at(plane / outputs, plane % outputs, output_place(windows, i));
  });
  return {y};
}

const bool registered[] = {
    add_operator("ConvInteger", conv_integer),
    add_operator("DynamicQuantizeLinear", dynamic_quantize_linear),
    add_operator("MatMulInteger", matmul_integer),
};

}  // namespace

}  // namespace deepgap
