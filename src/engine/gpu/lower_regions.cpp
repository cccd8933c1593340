// Operators that read an image between its pixels: RoiAlign and DeformConv. A thread for each element of the result.
#include "engine/gpu/generated.h"
#include "engine/gpu/kernel_file.h"
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
  lowering.step(operation, element_kernel(operation.main.op, {out, in, Kind::number, body}), in, {out});
  return true;
}

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
  return emit(lowering, operation, in, body + kernel_file("roi_align"));
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
  return emit(lowering, operation, in, body + kernel_file("deform_conv"));
}

}  // namespace deepgap::gpu
