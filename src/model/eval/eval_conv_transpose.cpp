// ConvTranspose in one to three dimensions: each input element adds its weighted kernel to the result, channel after channel and tap after
// tap, as a chain of fused multiply-adds for each output element.
#include "model/eval/operator.h"
#include "model/eval/parallel.h"
#include "model/eval/widened.h"
#include "model/eval/windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {

namespace {

// Adds one tap of one input plane to the output plane. The windows slide over the output.
void add_tap(const SlidingWindows& windows, const float* x, const WindowPlace& tap, float weight, float* y) {
  const auto& [batch, channels, slices, rows, columns] = windows;
  const auto [front, back] = slices.inside(tap.slice);
  const auto [top, bottom] = rows.inside(tap.row);
  const auto [first, last] = columns.inside(tap.column);
  for (int64_t slice = front; slice < back; ++slice) {
    const int64_t out_slice = slices.start(slice) + tap.slice * slices.dilation;
    for (int64_t row = top; row < bottom; ++row) {
      const float* from = x + (slice * rows.output + row) * columns.output;
      float* to = y + (out_slice * rows.input + rows.start(row) + tap.row * rows.dilation) * columns.input;
      const int64_t offset = tap.column * columns.dilation - columns.pad_begin;
      for (int64_t i = first; i < last; ++i) {
        float& sum = to[i * columns.stride + offset];
        sum = std::fma(weight, from[i], sum);
      }
    }
  }
}

std::vector<Tensor> conv_transpose(const Call& call) {
  const Tensor& x = call.input(0);
  const Tensor& weight = call.input(1);  // [in, out / group, k...]
  call.expect(x, DataType::f32);
  call.expect(weight, DataType::f32);
  if (weight.shape.size() != x.shape.size() || x.shape.size() < 3) call.fail("input and weight do not have the same rank of 3 or more");
  const std::vector<int64_t> kernel(weight.shape.begin() + 2, weight.shape.end());
  if (call.ints_of("kernel_shape", kernel) != kernel) call.fail("kernel_shape is not the weight's");
  const SlidingWindows windows = transposed_windows_of(call, x, kernel);
  const int64_t groups = call.int_of("group", 1), group_outputs = weight.shape[1], outputs = group_outputs * groups;
  if (groups < 1 || windows.channels != weight.shape[0] || windows.channels % groups != 0)
    call.fail(fmt::format("{} channels in {} groups do not fit a weight of {} input channels", windows.channels, groups, weight.shape[0]));
  if (call.has(2) && call.input(2).shape != Shape{outputs}) call.fail("the bias does not have one value per output channel");
  Shape shape{windows.batch, outputs};
  const int64_t sizes[] = {windows.slices.input, windows.rows.input, windows.columns.input};
  shape.insert(shape.end(), sizes + (3 - kernel.size()), sizes + 3);
  Tensor y = make_tensor(DataType::f32, shape);
  const float* from = x.as<float>().data();
  const float* weights = weight.as<float>().data();
  const float* bias = call.has(2) ? call.input(2).as<float>().data() : nullptr;
  float* to = writable<float>(y).data();
  const int64_t group_inputs = windows.channels / groups, taps = windows.taps(), size = windows.input_size();
  parallel_for(windows.batch * outputs, static_cast<double>(group_inputs * taps * windows.output_size()), [&](int64_t item) {
    const int64_t image = item / outputs, output = item % outputs, first_channel = output / group_outputs * group_inputs;
    float* plane = to + item * size;
    std::fill_n(plane, size, 0.0f);
    for (int64_t channel = first_channel; channel < first_channel + group_inputs; ++channel)
      for (int64_t tap = 0; tap < taps; ++tap)
        add_tap(windows, from + (image * windows.channels + channel) * windows.output_size(), tap_place(windows, tap),
                weights[(channel * group_outputs + output % group_outputs) * taps + tap], plane);
    if (bias != nullptr)
      for (int64_t i = 0; i < size; ++i) plane[i] += bias[output];
  });
  return {y};
}

const bool registered = add_operator("ConvTranspose", widened<conv_transpose>);

}  // namespace

}  // namespace deepgap
