#include "model/eval/windows.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {

namespace {

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

bool is_same(const std::string& automatic) { return automatic == "SAME_UPPER" || automatic == "SAME_LOWER"; }

// Begin and end of a padding of `total`: the odd one goes to the end with SAME_UPPER, else to the begin.
void distribute(WindowAxis& axis, int64_t total, const std::string& automatic) {
  axis.pad_begin = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
  axis.pad_end = total - axis.pad_begin;
}

void set_automatic_pads(WindowAxis& axis, const std::string& automatic) {
  if (!is_same(automatic)) return;
  const int64_t out = ceil_div(axis.input, axis.stride);
  distribute(axis, std::max<int64_t>(0, (out - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1 - axis.input), automatic);
}

void set_output(const Call& call, WindowAxis& axis, bool ceil_mode) {
  const int64_t room = axis.input + axis.pad_begin + axis.pad_end - ((axis.kernel - 1) * axis.dilation + 1);
  if (room < 0) call.fail(fmt::format("a window of {} does not fit the padded input of {}", axis.kernel, axis.input));
  axis.output = (ceil_mode ? ceil_div(room, axis.stride) : room / axis.stride) + 1;
  // A window that begins in the padding at the end covers nothing: it is left out.
  if (ceil_mode && axis.start(axis.output - 1) >= axis.input + axis.pad_end) --axis.output;
  if (ceil_mode && axis.output > 1 && axis.start(axis.output - 1) >= axis.input) --axis.output;
}

// The axes with their inputs and what the attributes say of them; outputs are left open.
SlidingWindows given_windows(const Call& call, const Tensor& x, std::vector<int64_t> kernel) {
  const size_t rank = x.shape.size() < 2 ? 0 : x.shape.size() - 2;
  if (rank < 1 || rank > 3) call.refuse(fmt::format("{} spatial dimensions are not handled here, only 1 to 3", rank));
  kernel = call.ints_of("kernel_shape", kernel);
  const auto strides = call.ints_of("strides", std::vector<int64_t>(rank, 1));
  const auto dilations = call.ints_of("dilations", std::vector<int64_t>(rank, 1));
  auto pads = call.ints_of("pads", std::vector<int64_t>(2 * rank, 0));
  if (call.text_of("auto_pad", "NOTSET") == "VALID") pads.assign(2 * rank, 0);
  if (kernel.size() != rank || strides.size() != rank || dilations.size() != rank || pads.size() != 2 * rank)
    call.fail("kernel_shape, strides, dilations or pads do not have the input's rank");
  SlidingWindows windows{x.shape[0], x.shape[1], {}, {}, {}};
  WindowAxis* const axes[] = {&windows.slices, &windows.rows, &windows.columns};
  for (size_t i = 0; i < rank; ++i) {
    WindowAxis& axis = *axes[3 - rank + i];
    axis = {x.shape[i + 2], 0, kernel[i], strides[i], dilations[i], pads[i], pads[i + rank]};
    if (axis.kernel < 1 || axis.stride < 1 || axis.dilation < 1 || axis.pad_begin < 0 || axis.pad_end < 0)
      call.fail("kernel_shape, strides and dilations must be positive, pads not negative");
  }
  return windows;
}

// `asked`: the result's size where output_shape gives it, or -1.
void set_transposed(const Call& call, WindowAxis& axis, int64_t output_padding, int64_t asked, const std::string& automatic) {
  axis.output = axis.input;
  const int64_t reached = (axis.output - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1 + output_padding;
  if (asked < 0 && !is_same(automatic)) {
    axis.input = reached - axis.pad_begin - axis.pad_end;
  } else {
    axis.input = asked >= 0 ? asked : axis.output * axis.stride;
    distribute(axis, std::max<int64_t>(0, reached - axis.input), automatic);
  }
  if (axis.input < 0) call.fail("its pads are larger than its result");
}

}  // namespace

std::pair<int64_t, int64_t> WindowAxis::inside(int64_t tap) const {
  const int64_t offset = tap * dilation - pad_begin;
  const int64_t first = std::clamp<int64_t>(ceil_div(-offset, stride), 0, output);
  const int64_t last = std::clamp<int64_t>(floor_div(input - 1 - offset, stride) + 1, first, output);
  return {first, last};
}

SlidingWindows windows_of(const Call& call, const Tensor& x, const std::vector<int64_t>& kernel) {
  SlidingWindows windows = given_windows(call, x, kernel);
  for (WindowAxis* axis : {&windows.slices, &windows.rows, &windows.columns}) {
    set_automatic_pads(*axis, call.text_of("auto_pad", "NOTSET"));
    set_output(call, *axis, call.int_of("ceil_mode", 0) != 0);
  }
  return windows;
}

SlidingWindows transposed_windows_of(const Call& call, const Tensor& x, const std::vector<int64_t>& kernel) {
  SlidingWindows windows = given_windows(call, x, kernel);
  const size_t rank = kernel.size();
  const auto padding = call.ints_of("output_padding", std::vector<int64_t>(rank, 0));
  const auto shape = call.ints_of("output_shape", std::vector<int64_t>(rank, -1));
  if (padding.size() != rank || shape.size() != rank) call.fail("output_padding or output_shape do not have the input's rank");
  WindowAxis* const axes[] = {&windows.slices, &windows.rows, &windows.columns};
  for (size_t i = 0; i < rank; ++i) set_transposed(call, *axes[3 - rank + i], padding[i], shape[i], call.text_of("auto_pad", "NOTSET"));
  return windows;
}

Shape window_shape(const Tensor& x, const SlidingWindows& windows, int64_t channels) {
  Shape shape{windows.batch, channels};
  const int64_t sizes[] = {windows.slices.output, windows.rows.output, windows.columns.output};
  shape.insert(shape.end(), sizes + (5 - x.shape.size()), sizes + 3);
  return shape;
}

}  // namespace deepgap
