// Conv in one to three dimensions. Wide groups go through the matrix product (columns are output pixels of the whole batch, laid out on the
// fly); groups with few outputs, such as depthwise ones, add up weighted rows.
#include "model/eval/kernels.h"
#include "model/eval/operator.h"
#include "model/eval/parallel.h"
#include "model/eval/product.h"
#include "model/eval/widened.h"
#include "model/eval/windows.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {

namespace {

struct ConvCase {
  SlidingWindows windows;
  int64_t groups, group_inputs, group_outputs;
  const float* x;
  const float* weight;
  const float* bias;  // may be nullptr
  float* y;

  int64_t outputs() const { return groups * group_outputs; }
  int64_t depth() const { return group_inputs * windows.taps(); }
  int64_t pixels() const { return windows.output_size(); }
  const float* input_plane(int64_t image, int64_t channel) const { return x + (image * windows.channels + channel) * windows.input_size(); }
};

// Consecutive output pixels of one output row that lie in one tile of the panel.
struct Run {
  int64_t position;  // in the panel
  int64_t length;
  int64_t image;
  WindowPlace first;
};

std::vector<Run> runs_of(const ConvCase& conv, const ColumnPanel& panel) {
  std::vector<Run> runs;
  const int64_t width = conv.windows.columns.output;
  for (int64_t done = 0; done < panel.count;) {
    const int64_t pixel = (panel.column + done) % conv.pixels();
    const int64_t in_row = width - pixel % width;
    const int64_t in_tile = panel.tile_columns - done % panel.tile_columns;
    const int64_t length = std::min({in_row, in_tile, panel.count - done});
    runs.push_back({done, length, (panel.column + done) / conv.pixels(), output_place(conv.windows, pixel)});
    done += length;
  }
  return runs;
}

void copy_run(const ConvCase& conv, const Run& run, const float* plane, const WindowPlace& tap, float* out) {
  const auto& [batch, channels, slices, rows, columns] = conv.windows;
  const int64_t in_slice = slices.start(run.first.slice) + tap.slice * slices.dilation;
  const int64_t in_row = rows.start(run.first.row) + tap.row * rows.dilation;
  const bool outside = in_slice < 0 || in_slice >= slices.input || in_row < 0 || in_row >= rows.input;
  const int64_t begin = run.first.column, end = begin + run.length;
  auto [first, last] = columns.inside(tap.column);
  first = std::clamp(first, begin, end);
  last = outside ? first : std::clamp(last, first, end);
  std::fill(out, out + (first - begin), 0.0f);
  const float* from = plane + (in_slice * rows.input + in_row) * columns.input + tap.column * columns.dilation - columns.pad_begin;
  if (columns.stride == 1) {
    std::copy(from + first, from + last, out + (first - begin));
  } else {
    for (int64_t i = first; i < last; ++i) out[i - begin] = from[i * columns.stride];
  }
  std::fill(out + (last - begin), out + run.length, 0.0f);
}

void pack_pixels(const ConvCase& conv, int64_t group, const ColumnPanel& panel) {
  const std::vector<Run> runs = runs_of(conv, panel);
  for (int64_t k = panel.depth_begin; k < panel.depth_end; ++k) {
    const int64_t channel = group * conv.group_inputs + k / conv.windows.taps();
    const WindowPlace tap = tap_place(conv.windows, k % conv.windows.taps());
    for (const Run& run : runs) copy_run(conv, run, conv.input_plane(run.image, channel), tap, panel.at(k, run.position));
  }
}

void convolve_group(const ConvCase& conv, int64_t group) {
  const int64_t first = group * conv.group_outputs;
  const LeftMatrix left{conv.weight + first * conv.depth(), conv.group_outputs, conv.depth(), conv.depth(), 1};
  const auto store = [&](int64_t row, int64_t column, int64_t count, const float* values) {
    const float bias = conv.bias ? conv.bias[first + row] : 0.0f;
    while (count > 0) {  // a tile may go on in the next image
      const int64_t image = column / conv.pixels(), pixel = column % conv.pixels();
      const int64_t part = std::min(count, conv.pixels() - pixel);
      float* out = conv.y + (image * conv.outputs() + first + row) * conv.pixels() + pixel;
      for (int64_t i = 0; i < part; ++i) out[i] = values[i] + bias;
      values += part, column += part, count -= part;
    }
  };
  multiply(
      left, conv.windows.batch * conv.pixels(), [&](const ColumnPanel& panel) { pack_pixels(conv, group, panel); }, store);
}

// Adds one tap of one input plane to all outputs that it lies under.
void add_tap(const ConvCase& conv, const float* plane, const WindowPlace& tap, float weight, float* y) {
  const auto& [batch, channels, slices, rows, columns] = conv.windows;
  const auto multiply_row = current_kernels().multiply_row;
  const auto [front, back] = slices.inside(tap.slice);
  const auto [top, bottom] = rows.inside(tap.row);
  const auto [first, last] = columns.inside(tap.column);
  if (first == last) return;
  for (int64_t slice = front; slice < back; ++slice) {
    const int64_t in_slice = slices.start(slice) + tap.slice * slices.dilation;
    for (int64_t row = top; row < bottom; ++row) {
      const int64_t line = in_slice * rows.input + rows.start(row) + tap.row * rows.dilation;
      const float* from = plane + line * columns.input + columns.start(first) + tap.column * columns.dilation;
      multiply_row(weight, from, columns.stride, last - first, y + (slice * rows.output + row) * columns.output + first);
    }
  }
}

void convolve_plane(const ConvCase& conv, int64_t image, int64_t output) {
  float* y = conv.y + (image * conv.outputs() + output) * conv.pixels();
  std::fill_n(y, conv.pixels(), 0.0f);
  const int64_t first_channel = output / conv.group_outputs * conv.group_inputs, taps = conv.windows.taps();
  for (int64_t k = 0; k < conv.depth(); ++k)
    add_tap(conv, conv.input_plane(image, first_channel + k / taps), tap_place(conv.windows, k % taps),
            conv.weight[output * conv.depth() + k], y);
  const float bias = conv.bias ? conv.bias[output] : 0.0f;
  for (int64_t i = 0; i < conv.pixels(); ++i) y[i] += bias;
}

// A 1x1 convolution without steps or padding does not care for rows: one long row packs faster.
void flatten_pointwise(SlidingWindows& windows) {
  const auto plain = [](const WindowAxis& a) { return a.kernel == 1 && a.stride == 1 && a.pad_begin == 0 && a.pad_end == 0; };
  if (!plain(windows.slices) || !plain(windows.rows) || !plain(windows.columns)) return;
  windows.columns.input = windows.columns.output = windows.input_size();
  windows.slices.input = windows.slices.output = windows.rows.input = windows.rows.output = 1;
}

std::vector<Tensor> conv(const Call& call) {
  const Tensor& x = call.input(0);
  const Tensor& weight = call.input(1);
  call.expect(x, DataType::f32);
  call.expect(weight, DataType::f32);
  if (weight.shape.size() != x.shape.size() || weight.shape.size() < 3)
    call.fail("input and weight do not have the same rank of 3 or more");
  const int64_t groups = call.int_of("group", 1);
  const std::vector<int64_t> kernel(weight.shape.begin() + 2, weight.shape.end());
  if (call.ints_of("kernel_shape", kernel) != kernel) call.fail("kernel_shape is not the weight's");
  SlidingWindows windows = windows_of(call, x, kernel);
  if (groups < 1 || windows.channels != weight.shape[1] * groups || weight.shape[0] % groups != 0)
    call.fail(
        fmt::format("{} channels in {} groups do not fit a weight of {} x {}", windows.channels, groups, weight.shape[0], weight.shape[1]));
  if (call.has(2) && call.input(2).shape != Shape{weight.shape[0]}) call.fail("the bias does not have one value per output channel");
  Tensor y = make_tensor(DataType::f32, window_shape(x, windows, weight.shape[0]));
  flatten_pointwise(windows);
  const ConvCase conv{windows,
                      groups,
                      weight.shape[1],
                      weight.shape[0] / groups,
                      x.as<float>().data(),
                      weight.as<float>().data(),
                      call.has(2) ? call.input(2).as<float>().data() : nullptr,
                      writable<float>(y).data()};
  if (conv.group_outputs >= 4) {
    for (int64_t group = 0; group < groups; ++group) convolve_group(conv, group);
  } else {
    parallel_for(windows.batch * conv.outputs(), static_cast<double>(conv.depth() * conv.pixels()) / 4,
                 [&](int64_t item) { convolve_plane(conv, item / conv.outputs(), item % conv.outputs()); });
  }
  return {y};
}

const bool registered = add_operator("Conv", widened<conv>);

}  // namespace

}  // namespace deepgap
