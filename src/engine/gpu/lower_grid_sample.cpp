// GridSample of images and volumes: a thread for each element of the result, which interpolates where the grid says.
#include "engine/gpu/generated.h"
#include "engine/gpu/kernel_file.h"
#include "engine/gpu/operators.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

namespace deepgap::gpu {
namespace {

struct Sampling {
  int taps = 2, border = 0;
  bool corners = false;
};

// Opset 20 has other names for two of them.
std::optional<Sampling> sampling_of(const Node& node) {
  const std::string mode = attribute_string(node, "mode", "linear"), border = attribute_string(node, "padding_mode", "zeros");
  Sampling sampling;
  sampling.corners = attribute_int(node, "align_corners", 0) != 0;
  if (mode == "nearest") sampling.taps = 1;
  if (mode == "cubic" || mode == "bicubic") sampling.taps = 4;
  if (border == "border") sampling.border = 1;
  if (border == "reflection") sampling.border = 2;
  const bool known = sampling.taps != 2 || mode == "linear" || mode == "bilinear";
  return known && (sampling.border != 0 || border == "zeros") ? std::optional(sampling) : std::nullopt;
}

}  // namespace

bool lower_grid_sample(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const auto sampling = sampling_of(node);
  const std::vector<Operand> in{lowering.native(node.inputs[0]), lowering.native(node.inputs[1])};
  const size_t axes = in[0].shape.size() - 2;
  for (const Operand& each : in)
    if (kind_of(each.form.element) != Kind::number) return false;
  if (!sampling || operation.body != nullptr || axes < 2 || axes > 3) return false;
  const Shape& shape = lowering.shape(operation.output);
  const Element element = lowering.stored(operation.output);
  const Operand out =
      lowering.write(operation.output, in[0].form.channels_last ? channels_last_form(element, shape) : plain_form(element, shape));
  std::string body = fmt::format("  constexpr int TAPS = {}, BORDER = {};\n  constexpr bool CORNERS = {};\n{}", sampling->taps,
                                 sampling->border, sampling->corners, kernel_file("grid_sample_taps"));
  std::vector<std::string> part{"c0"}, place{"c0", "c1"};
  for (size_t i = 0; i < axes; ++i) part.push_back(fmt::format("c{}", i + 2));
  part.emplace_back();
  std::string open, inside, by, close;
  for (size_t i = 0; i < axes; ++i) {
    part.back() = std::to_string(axes - 1 - i);  // the grid has the last axis first
    body += fmt::format("  int at{0}[TAPS];\n  float by{0}[TAPS];\n  taps({1}, {2}, at{0}, by{0});\n", i, element_at(in, 1, part),
                        in[0].shape[i + 2]);
    open += fmt::format("#pragma unroll\n  for (int t{0} = 0; t{0} < TAPS; ++t{0})\n", i);
    inside += fmt::format("{}at{}[t{}] >= 0", i == 0 ? "" : " && ", i, i);
    by += fmt::format("by{}[t{}] * ", i, i);
    place.push_back(fmt::format("at{}[t{}]", i, i));
  }
  body += fmt::format("  r = 0;\n{}    if ({}) r += {}{};\n", open, inside, by, element_at(in, 0, place));
  lowering.step(operation, element_kernel(node.op, {out, in, Kind::number, body}), in, {out});
  return true;
}

}  // namespace deepgap::gpu
