#include "model/eval/windows.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {

namespace {

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

void set_automatic_pads(WindowAxis& axis, const std::string& automatic) {
  if (automatic != "SAME_UPPER" && automatic != "SAME_LOWER") return;
  const int64_t out = ceil_div(axis.input, axis.stride);
  const int64_t total = std::max<int64_t>(0, (out - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1 - axis.input);
  axis.pad_begin = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
  axis.pad_end = total - axis.pad_begin;
}

void set_output(const Call& call, WindowAxis& axis, bool ceil_mode) {
  const int64_t room = axis.input + axis.pad_begin + axis.pad_end - ((axis.kernel - 1) * axis.dilation + 1);
  if (room < 0) call.fail(fmt::format("a window of {} does not fit the padded input of {}", axis.kernel, axis.input));
  axis.output = (ceil_mode ? ceil_div(room, axis.stride) : room / axis.stride) + 1;
  // A window that begins in the padding at the end covers nothing: it is left out.
  if (ceil_mode && axis.start(axis.output - 1) >= axis.input + axis.pad_end) --axis.output;
  if (ceil_mode && axis.output > 1 && axis.start(axis.output - 1) >= axis.input) --axis.output;
}

}  // namespace

std::pair<int64_t, int64_t> WindowAxis::inside(int64_t tap) const {
  const int64_t offset = tap * dilation - pad_begin;
  const int64_t first = std::clamp<int64_t>(ceil_div(-offset, stride), 0, output);
  const int64_t last = std::clamp<int64_t>(floor_div(input - 1 - offset, stride) + 1, first, output);
  return {first, last};
}

Windows windows_of(const Call& call, const Tensor& x, std::vector<int64_t> kernel) {
  const size_t rank = x.shape.size() < 2 ? 0 : x.shape.size() - 2;
  if (rank != 1 && rank != 2) call.refuse(fmt::format("{} spatial dimensions are not handled here, only 1 or 2", rank));
  kernel = call.ints_of("kernel_shape", kernel);
  const auto strides = call.ints_of("strides", std::vector<int64_t>(rank, 1));
  const auto dilations = call.ints_of("dilations", std::vector<int64_t>(rank, 1));
  const std::string automatic = call.text_of("auto_pad", "NOTSET");
  auto pads = call.ints_of("pads", std::vector<int64_t>(2 * rank, 0));
  if (automatic == "VALID") pads.assign(2 * rank, 0);
  if (kernel.size() != rank || strides.size() != rank || dilations.size() != rank || pads.size() != 2 * rank)
    call.fail("kernel_shape, strides, dilations or pads do not have the input's rank");
  Windows windows{x.shape[0], x.shape[1], {}, {}};
  for (size_t i = 0; i < rank; ++i) {
    WindowAxis& axis = i + 1 == rank ? windows.columns : windows.rows;
    axis = {x.shape[i + 2], 0, kernel[i], strides[i], dilations[i], pads[i], pads[i + rank]};
    if (axis.kernel < 1 || axis.stride < 1 || axis.dilation < 1 || axis.pad_begin < 0 || axis.pad_end < 0)
      call.fail("kernel_shape, strides and dilations must be positive, pads not negative");
    set_automatic_pads(axis, automatic);
    set_output(call, axis, call.int_of("ceil_mode", 0) != 0);
  }
  return windows;
}

Shape window_shape(const Tensor& x, const Windows& windows, int64_t channels) {
  if (x.shape.size() == 3) return {windows.batch, channels, windows.columns.output};
  return {windows.batch, channels, windows.rows.output, windows.columns.output};
}

}  // namespace deepgap
