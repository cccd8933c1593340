// Conv in one or two dimensions. Wide groups go through the matrix product (columns are output pixels of the whole batch, laid out on the
// fly); groups with few outputs, such as depthwise ones, add up weighted rows.
#include "model/eval/kernels.h"
#include "model/eval/operator.h"
#include "model/eval/parallel.h"
#include "model/eval/product.h"
#include "model/eval/windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace deepgap {

namespace {

struct ConvCase {
  Windows windows;
  int64_t groups, group_inputs, group_outputs;
  const float* x;
  const float* weight;
  const float* bias;  // may be nullptr
  float* y;

  int64_t outputs() const { return groups * group_outputs; }
  int64_t taps() const { return windows.rows.kernel * windows.columns.kernel; }
  int64_t depth() const { return group_inputs * taps(); }
  int64_t pixels() const { return windows.rows.output * windows.columns.output; }
  int64_t input_pixels() const { return windows.rows.input * windows.columns.input; }
  const float* input_plane(int64_t image, int64_t channel) const { return x + (image * windows.channels + channel) * input_pixels(); }
};

// Consecutive output pixels of one output row that lie in one tile of the panel.
struct Run {
  int64_t position;  // in the panel
  int64_t length;
  int64_t image, row, column;
};

std::vector<Run> runs_of(const ConvCase& conv, const ColumnPanel& panel) {
  std::vector<Run> runs;
  const int64_t width = conv.windows.columns.output;
  for (int64_t done = 0; done < panel.count;) {
    const int64_t pixel = (panel.column + done) % conv.pixels();
    const int64_t in_row = width - pixel % width;
    const int64_t in_tile = panel.tile_columns - done % panel.tile_columns;
    const int64_t length = std::min({in_row, in_tile, panel.count - done});
    runs.push_back({done, length, (panel.column + done) / conv.pixels(), pixel / width, pixel % width});
    done += length;
  }
  return runs;
}

void copy_run(const ConvCase& conv, const Run& run, const float* plane, int64_t kernel_row, int64_t kernel_column, float* out) {
  const WindowAxis& rows = conv.windows.rows;
  const WindowAxis& columns = conv.windows.columns;
  const int64_t in_row = rows.start(run.row) + kernel_row * rows.dilation;
  auto [first, last] = columns.inside(kernel_column);
  first = std::clamp(first, run.column, run.column + run.length);
  last = in_row < 0 || in_row >= rows.input ? first : std::clamp(last, first, run.column + run.length);
  std::fill(out, out + (first - run.column), 0.0f);
  const float* from = plane + in_row * columns.input + kernel_column * columns.dilation - columns.pad_begin;
  if (columns.stride == 1) {
    std::copy(from + first, from + last, out + (first - run.column));
  } else {
    for (int64_t i = first; i < last; ++i) out[i - run.column] = from[i * columns.stride];
  }
  std::fill(out + (last - run.column), out + run.length, 0.0f);
}

void pack_pixels(const ConvCase& conv, int64_t group, const ColumnPanel& panel) {
  const std::vector<Run> runs = runs_of(conv, panel);
  for (int64_t k = panel.depth_begin; k < panel.depth_end; ++k) {
    const int64_t channel = group * conv.group_inputs + k / conv.taps();
    const int64_t tap = k % conv.taps();
    for (const Run& run : runs)
      copy_run(conv, run, conv.input_plane(run.image, channel), tap / conv.windows.columns.kernel, tap % conv.windows.columns.kernel,
               panel.at(k, run.position));
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

void convolve_plane(const ConvCase& conv, int64_t image, int64_t output) {
  const WindowAxis& rows = conv.windows.rows;
  const WindowAxis& columns = conv.windows.columns;
  float* y = conv.y + (image * conv.outputs() + output) * conv.pixels();
  std::fill_n(y, conv.pixels(), 0.0f);
  const auto multiply_row = current_kernels().multiply_row;
  const int64_t group = output / conv.group_outputs;
  for (int64_t k = 0; k < conv.depth(); ++k) {
    const float weight = conv.weight[output * conv.depth() + k];
    const float* plane = conv.input_plane(image, group * conv.group_inputs + k / conv.taps());
    const int64_t tap = k % conv.taps(), kernel_row = tap / columns.kernel, kernel_column = tap % columns.kernel;
    const auto [top, bottom] = rows.inside(kernel_row);
    const auto [first, last] = columns.inside(kernel_column);
    for (int64_t row = top; row < bottom; ++row) {
      const int64_t from =
          (rows.start(row) + kernel_row * rows.dilation) * columns.input + columns.start(first) + kernel_column * columns.dilation;
      if (first < last) multiply_row(weight, plane + from, columns.stride, last - first, y + row * columns.output + first);
    }
  }
  const float bias = conv.bias ? conv.bias[output] : 0.0f;
  for (int64_t i = 0; i < conv.pixels(); ++i) y[i] += bias;
}

// A 1x1 convolution without steps or padding does not care for rows: one long row packs faster.
void flatten_pointwise(Windows& windows) {
  const auto plain = [](const WindowAxis& a) { return a.kernel == 1 && a.stride == 1 && a.pad_begin == 0 && a.pad_end == 0; };
  if (!plain(windows.rows) || !plain(windows.columns)) return;
  windows.columns.input = windows.columns.output = windows.rows.input * windows.columns.input;
  windows.rows.input = windows.rows.output = 1;
}

std::vector<Tensor> conv(const Call& call) {
  const Tensor& x = call.input(0);
  const Tensor& weight = call.input(1);
  call.expect(x, DataType::f32);
  call.expect(weight, DataType::f32);
  if (weight.shape.size() != x.shape.size() || weight.shape.size() < 3)
    call.fail("input and weight do not have the same rank of 3 or more");
  Windows windows = windows_of(call, x, {weight.shape.begin() + 2, weight.shape.end()});
  const int64_t groups = call.int_of("group", 1);
  const int64_t kernel_rows = weight.shape.size() == 4 ? weight.shape[2] : 1;
  if (kernel_rows != windows.rows.kernel || weight.shape.back() != windows.columns.kernel) call.fail("kernel_shape is not the weight's");
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

const bool registered = add_operator("Conv", conv);

}  // namespace

}  // namespace deepgap
