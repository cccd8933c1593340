// DynamicQuantizeLinear: the range is found by two kernels, then every element is rounded.
#include "engine/gpu/generated.h"
#include "engine/gpu/kernel_file.h"
#include "engine/gpu/operators.h"
#include "engine/gpu/pointwise.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap::gpu {
namespace {

constexpr int64_t most_blocks = 256;

// One of the two kernels that find the range: over all elements, then over what the blocks of the first found.
Launch range_kernel(int64_t count, int64_t blocks, const std::string& parameters, size_t buffers, const std::string& read,
                    const std::string& write) {
  const std::string entry = kernel_name("range");
  std::string text =
      generated_prelude() + fmt::format("extern \"C\" __global__ void __launch_bounds__(256) {}({}) {{\n", entry, parameters);
  text += fmt::format("  constexpr long long COUNT = {}, STEP = {};\n  let_next_begin();\n  wait_for_previous();\n", count, blocks * 256);
  std::string body = kernel_file("dynamic_quantize_range");
  body.replace(body.find("READ"), 4, read);
  body.replace(body.find("WRITE"), 5, write);
  Launch launch = launch_over(entry, text + body + "}\n", 1, buffers);
  launch.grid = {static_cast<unsigned>(blocks), 1, 1};
  return launch;
}

// Scale and zero point of x, as one element each.
void find_range(Lowering& lowering, const Operation& operation, const Operand& in, const Operand& scale, const Operand& zero) {
  const int64_t count = element_count(in.shape);
  const int64_t blocks = std::clamp<int64_t>((count + 4095) / 4096, 1, most_blocks);
  const Shape parts_shape{2 * blocks};
  const Operand parts = lowering.write(lowering.add_value(DataType::f32, parts_shape), plain_form(Element::f32, parts_shape));
  const std::string parameters = fmt::format("const {}* x0, float* parts", c_type(in.form.element));
  lowering.step(operation,
                range_kernel(count, blocks, parameters, 2, load_text(in.form.element, "x0[i]"),
                             "parts[2 * blockIdx.x] = low;\n    parts[2 * blockIdx.x + 1] = high;"),
                {in}, {parts});
  lowering.step(operation,
                range_kernel(2 * blocks, 1, "const float* parts, float* scale, unsigned char* zero", 3, "parts[i]",
                             "const float s = low == high ? 1.0f : (high - low) / 255.0f;\n    *scale = s;\n    *zero = (unsigned "
                             "char)rintf(fminf(fmaxf(-low / s, 0.0f), 255.0f));"),
                {parts}, {scale, zero});
}

}  // namespace

bool lower_dynamic_quantize(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const ValueId x = node.inputs[0];
  Operand in = lowering.native(x);
  if (kind_of(in.form.element) != Kind::number || operation.body != nullptr || node.outputs.size() < 3) return false;
  if (is_padded(in.shape, in.form)) in = lowering.read(x, plain_form(in.form.element, in.shape));
  const Shape one{};
  const auto output = [&](size_t index, DataType type, Element element) {
    const ValueId id = node.outputs[index] == no_value ? lowering.add_value(type, one) : node.outputs[index];
    return lowering.write(id, plain_form(element, one));
  };
  const Operand scale = output(1, DataType::f32, Element::f32), zero = output(2, DataType::u8, Element::u8);
  find_range(lowering, operation, in, scale, zero);
  if (node.outputs[0] == no_value) return true;
  const std::vector<Operand> all{lowering.native(x), scale, zero};
  const Operand out = lowering.write(node.outputs[0], pointwise_form(lowering, {all[0]}, in.shape, Element::u8));
  lowering.step(
      operation,
      pointwise_kernel(
          node.op,
          {out, all, {Kind::number, Kind::number, Kind::number}, Kind::number, "r = fminf(fmaxf(rintf(a0 / a1) + a2, 0.0f), 255.0f);"}),
      all, {out});
  return true;
}

}  // namespace deepgap::gpu
