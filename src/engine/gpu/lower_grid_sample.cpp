// GridSample of pictures and volumes: a thread for each element of the result, which interpolates where the grid says.
#include "engine/gpu/generated.h"
#include "engine/gpu/operators.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

namespace deepgap::gpu {
namespace {

// Along one axis: `count` places and what each is multiplied by; a place of -1 is a zero. Positions are parts of the axis from -1 to 1.
constexpr const char* taps_text = R"(
  const auto drawn_in = [](float x, int size) {
    if (BORDER == 0) return x;
    if (BORDER == 2) {
      const float low = CORNERS ? 0.0f : -0.5f, length = CORNERS ? size - 1 : size;
      const float far = fabsf(x - low), rest = length == 0.0f ? 0.0f : fmodf(far, length);
      x = length == 0.0f ? 0.0f : (long long)(far / length) % 2 == 0 ? rest + low : length - rest + low;
    }
    return fminf(fmaxf(x, 0.0f), (float)(size - 1));
  };
  const auto place = [&](float x, int size) {
    const float inside = drawn_in(x, size);
    return inside >= 0.0f && inside < (float)size ? (int)inside : -1;
  };
  const auto taps = [&](float part, int size, int (&at)[TAPS], float (&by)[TAPS]) {
    float x = CORNERS ? (part + 1.0f) / 2.0f * (float)(size - 1) : ((part + 1.0f) * (float)size - 1.0f) / 2.0f;
    if (TAPS == 1) {
      at[0] = place(rintf(drawn_in(x, size)), size);
      by[0] = 1.0f;
    } else if (TAPS == 2) {
      x = drawn_in(x, size);
      const float low = floorf(x);
      at[0] = place(low, size), by[0] = low + 1.0f - x;
      at[TAPS / 2] = place(low + 1.0f, size), by[TAPS / 2] = x - low;
    } else {
      const float low = floorf(x), s = x - low;
      const auto near = [](float d) { return ((-0.75f + 2.0f) * d - (-0.75f + 3.0f)) * d * d + 1.0f; };
      const auto far = [](float d) { return ((-0.75f * d + 3.75f) * d - 6.0f) * d + 3.0f; };
#pragma unroll
      for (int k = 0; k < TAPS; ++k) {
        at[k] = place(low - 1.0f + (float)k, size);
        by[k] = k == 0 ? far(s + 1.0f) : k == 1 ? near(s) : k == 2 ? near(1.0f - s) : far(2.0f - s);
      }
    }
  };
)";

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
                                 sampling->border, sampling->corners, taps_text);
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
  lowering.step(operation, element_kernel(lowering, node.op, {out, in, Kind::number, body}), in, {out});
  return true;
}

}  // namespace deepgap::gpu
