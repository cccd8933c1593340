// Operators that read a picture between its pixels: RoiAlign and DeformConv. A thread for each element of the result.
#include "engine/gpu/generated.h"
#include "engine/gpu/operators.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

namespace deepgap::gpu {
namespace {

bool are_numbers(const std::vector<Operand>& in) {
  for (const Operand& each : in)
    if (kind_of(each.form.element) != Kind::number) return false;
  return true;
}

bool emit(Lowering& lowering, const Operation& operation, const std::vector<Operand>& in, const std::string& body) {
  const ValueId id = operation.output;
  const Operand out = lowering.write(id, plain_form(lowering.stored(id), lowering.shape(id)));
  lowering.step(operation, element_kernel(lowering, operation.main.op, {out, in, Kind::number, body}), in, {out});
  return true;
}

// Points near the edge are moved onto it; those further out are zeros.
constexpr const char* align_text = R"(
  const float left = BOX(0) * SCALE - SHIFT, top = BOX(1) * SCALE - SHIFT;
  float width = BOX(2) * SCALE - SHIFT - left, height = BOX(3) * SCALE - SHIFT - top;
  if (SHIFT == 0.0f) width = fmaxf(width, 1.0f), height = fmaxf(height, 1.0f);
  const float bin_height = height / BINS_H, bin_width = width / BINS_W;
  const int rows = RATIO > 0 ? RATIO : (int)fmaxf(ceilf(bin_height), 0.0f), columns = RATIO > 0 ? RATIO : (int)fmaxf(ceilf(bin_width), 0.0f);
  r = AVERAGE ? 0.0f : __int_as_float(0xff800000);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      const float y = top + ((float)c2 + ((float)i + 0.5f) / (float)rows) * bin_height;
      const float x = left + ((float)c3 + ((float)j + 0.5f) / (float)columns) * bin_width;
      const bool there = y >= -1.0f && y <= (float)HEIGHT && x >= -1.0f && x <= (float)WIDTH;
      const float inside_y = fminf(fmaxf(y, 0.0f), (float)(HEIGHT - 1)), inside_x = fminf(fmaxf(x, 0.0f), (float)(WIDTH - 1));
      const int y0 = there ? (int)inside_y : 0, x0_ = there ? (int)inside_x : 0;
      const int y1 = there && y0 + 1 < HEIGHT ? y0 + 1 : y0, x1_ = there && x0_ + 1 < WIDTH ? x0_ + 1 : x0_;
      const float down = there ? inside_y - (float)y0 : 0.0f, along = there ? inside_x - (float)x0_ : 0.0f, all = there ? 1.0f : 0.0f;
      const float values[4] = {all * (1.0f - down) * (1.0f - along) * PIXEL(y0, x0_), all * (1.0f - down) * along * PIXEL(y0, x1_),
                               all * down * (1.0f - along) * PIXEL(y1, x0_), all * down * along * PIXEL(y1, x1_)};
      for (int k = 0; k < 4; ++k) r = AVERAGE ? r + values[k] : fmaxf(r, values[k]);
    }
  if (rows * columns == 0) r = 0.0f;
  else if (AVERAGE) r /= (float)(rows * columns);
)";

constexpr const char* deform_text = R"(
  for (int i = 0; i < INPUTS; ++i) {
    const int channel = (int)(c1 / OUTPUTS_EACH) * INPUTS + i, part = channel / CHANNELS_EACH;
    for (int tap = 0; tap < KERNEL_H * KERNEL_W; ++tap) {
      const int place = (part * KERNEL_H * KERNEL_W + tap) * 2;
      const float y = (float)((int)c2 * STRIDE_H - PAD_H + tap / KERNEL_W * DILATION_H) + OFFSET(place);
      const float x = (float)((int)c3 * STRIDE_W - PAD_W + tap % KERNEL_W * DILATION_W) + OFFSET(place + 1);
      if (!(y > -1.0f && x > -1.0f && y < (float)HEIGHT && x < (float)WIDTH)) continue;
      const int top = (int)floorf(y), left = (int)floorf(x);
      const float down = y - (float)top, along = x - (float)left;
      const auto pixel = [&](int row, int column) {
        return row < 0 || column < 0 || row >= HEIGHT || column >= WIDTH ? 0.0f : PIXEL(channel, row, column);
      };
      const float between = (1.0f - down) * ((1.0f - along) * pixel(top, left) + along * pixel(top, left + 1)) +
                            down * ((1.0f - along) * pixel(top + 1, left) + along * pixel(top + 1, left + 1));
      r += WEIGHT(i, tap / KERNEL_W, tap % KERNEL_W) * MASK(part * KERNEL_H * KERNEL_W + tap) * between;
    }
  }
)";

std::string whole(const char* name, int64_t value) { return fmt::format("  constexpr int {} = {};\n", name, value); }
// A function of the kernel's own coordinates and of what is named.
std::string function(const char* name, const char* parameters, const std::string& value) {
  return fmt::format("  const auto {} = [&]({}) {{ return {}; }};\n", name, parameters, value);
}

}  // namespace

bool lower_roi_align(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const std::vector<Operand> in{lowering.native(node.inputs[0]), lowering.native(node.inputs[1]), lowering.native(node.inputs[2])};
  if (operation.body != nullptr || !are_numbers({in[0], in[1]}) || in[0].shape.size() != 4) return false;
  const std::string shift =
      attribute_string(node, "coordinate_transformation_mode", lowering.graph().opset < 16 ? "output_half_pixel" : "half_pixel");
  const Shape& out = lowering.shape(operation.output);
  std::string body = whole("HEIGHT", in[0].shape[2]) + whole("WIDTH", in[0].shape[3]) + whole("BINS_H", out[2]) + whole("BINS_W", out[3]) +
                     whole("RATIO", attribute_int(node, "sampling_ratio", 0)) +
                     whole("AVERAGE", attribute_string(node, "mode", "avg") == "avg" ? 1 : 0);
  body += fmt::format("  constexpr float SHIFT = {};\n  const float SCALE = {};\n", shift == "half_pixel" ? "0.5f" : "0.0f",
                      number_text(attribute_float(node, "spatial_scale", 1.0F)));
  body += fmt::format("  const long long asked = {}, sample = asked < 0 ? 0 : asked >= {} ? {} : asked;\n", element_at(in, 2, {"c0"}),
                      in[0].shape[0], in[0].shape[0] - 1);
  body += function("BOX", "int k", element_at(in, 1, {"c0", "k"}));
  body += function("PIXEL", "int row, int column", element_at(in, 0, {"sample", "c1", "row", "column"}));
  return emit(lowering, operation, in, body + align_text);
}

bool lower_deform_conv(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const auto has = [&](size_t i) { return i < node.inputs.size() && node.inputs[i] != no_value; };
  std::vector<Operand> in;
  for (size_t i : {0, 1, 2}) in.push_back(lowering.native(node.inputs[i]));
  const size_t bias = in.size();
  if (has(3)) in.push_back(lowering.native(node.inputs[3]));
  const size_t mask = in.size();
  if (has(4)) in.push_back(lowering.native(node.inputs[4]));
  if (operation.body != nullptr || !are_numbers(in) || in[0].shape.size() != 4) return false;
  const Shape &x = in[0].shape, &w = in[1].shape;
  const auto strides = attribute_ints(node, "strides", {1, 1}), dilations = attribute_ints(node, "dilations", {1, 1}),
             pads = attribute_ints(node, "pads", {0, 0, 0, 0});
  std::string body = whole("HEIGHT", x[2]) + whole("WIDTH", x[3]) + whole("INPUTS", w[1]) + whole("KERNEL_H", w[2]) +
                     whole("KERNEL_W", w[3]) + whole("OUTPUTS_EACH", w[0] / attribute_int(node, "group", 1)) +
                     whole("CHANNELS_EACH", x[1] / attribute_int(node, "offset_group", 1)) + whole("STRIDE_H", strides.at(0)) +
                     whole("STRIDE_W", strides.at(1)) + whole("DILATION_H", dilations.at(0)) + whole("DILATION_W", dilations.at(1)) +
                     whole("PAD_H", pads.at(0)) + whole("PAD_W", pads.at(1));
  body += function("PIXEL", "int channel, int row, int column", element_at(in, 0, {"c0", "channel", "row", "column"}));
  body += function("WEIGHT", "int i, int row, int column", element_at(in, 1, {"c1", "i", "row", "column"}));
  body += function("OFFSET", "int place", element_at(in, 2, {"c0", "place", "c2", "c3"}));
  body += function("MASK", "int place", has(4) ? element_at(in, mask, {"c0", "place", "c2", "c3"}) : "(void)place, 1.0f");
  body += fmt::format("  r = {};\n", has(3) ? element_at(in, bias, {"c1"}) : "0.0f");
  lowering.count(element_count(lowering.shape(operation.output)) * w[1] * w[2] * w[3], "fp32");
  return emit(lowering, operation, in, body + deform_text);
}

}  // namespace deepgap::gpu
