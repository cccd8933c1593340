#include "hopper_cases.h"

#include "engine/gpu/float8.h"
#include "engine/gpu/kernel_text.h"
#include "model/eval/half.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace deepgap::gpu {

void replace_once(std::string& text, const std::string& what, const std::string& with) {
  const size_t at = text.find(what);
  ASSERT_NE(at, std::string::npos) << what;
  text.replace(at, what.size(), with);
}

std::string host_text(const Convolution& problem, const Launch& launch, const std::string& number) {
  std::string text = without_device_words(launch.source);
  cut_all_functions(text, "float unit_of");
  replace_once(text, "extern \"C\" __global__", "static");
  const std::string_view a = type_text(problem.source), b = problem.compute == ComputeType::i8 ? std::string_view("I8") : a;
  const std::string residual = problem.epilogue.has_residual() ? ", (const unsigned char*)p[4]" : "";
  return fmt::format(
             "namespace n_{} {{\ntemplate <typename S, int N> static void product(S (&d)[N], u64 a, u64 b, int add) {{ "
             "play_product<{}, {}>(d, a, b, add); }}\n",
             number, a, b) +
         text +
         fmt::format(
             "}}\nextern \"C\" const char* run_{0}(const unsigned* grid, void** p) {{ return run_blocks(grid, {1}, [&] {{ "
             "n_{0}::{2}(*(Map*)p[0], (const unsigned char*)p[1], (const float*)p[2], (unsigned char*)p[3]{3}); }}); }}\n",
             number, launch.block[0], launch.entry, residual);
}

HostMap map_of(const Argument& argument, const std::byte* from) {
  HostMap made{.from = from};
  const auto take = [&](const auto& map) {
    made.element_bytes = static_cast<int>(byte_size(map.element));
    made.row_bytes = map.swizzle_bytes;
    for (size_t i = 0; i < map.sizes.size(); ++i) {
      made.sizes[i] = static_cast<long long>(map.sizes[i]);
      if (i > 0) made.steps[i] = static_cast<long long>(map.strides[i - 1]);
    }
  };
  if (const auto* rows = std::get_if<TensorMapArgument>(&argument)) {
    take(*rows);
    for (size_t i = 0; i < rows->box.size(); ++i) made.box[i] = static_cast<int>(rows->box[i]);
    return made;
  }
  const auto& pixels = std::get<Im2colMapArgument>(argument);
  take(pixels);
  made.box = {static_cast<int>(pixels.channels), static_cast<int>(pixels.pixels), 1, 1};
  for (size_t i = 0; i < 2; ++i) {
    made.lower[i] = pixels.lower[i];
    made.upper[i] = pixels.upper[i];
    made.strides[i] = static_cast<int>(pixels.steps[i + 1]);
  }
  return made;
}

void fill(std::byte* at, Element element, int64_t count, RandomStream& random) {
  const auto put = [&](int64_t i, auto number) { std::memcpy(at + static_cast<size_t>(i) * sizeof number, &number, sizeof number); };
  for (int64_t i = 0; i < count; ++i) {
    const auto eighth = static_cast<float>(std::floor(random.uniform() * 17) - 8) / 8;
    switch (element) {
      case Element::f16:
        put(i, to_half(eighth).bits);
        break;
      case Element::bf16:
        put(i, to_bfloat16(eighth).bits);
        break;
      case Element::e4m3:
        put(i, to_e4m3(eighth));
        break;
      case Element::f32:
        put(i, eighth);
        break;
      default:
        put(i, static_cast<uint8_t>(random.uniform() * 256));
    }
  }
}

Tensor weights_of(const Convolution& p, RandomStream& random) {
  const bool bytes = p.compute == ComputeType::i8;
  Tensor weights = make_tensor(bytes ? DataType::i8 : DataType::f32, {p.out_channels, p.in_channels / p.groups, p.kernel_h, p.kernel_w});
  const int64_t count = p.out_channels * (p.in_channels / p.groups) * p.kernel_h * p.kernel_w;
  fill(writable<std::byte>(weights).data(), bytes ? Element::i8 : Element::f32, count, random);
  return weights;
}

std::vector<float> scale_bias_of(const Convolution& p, RandomStream& random) {
  std::vector<float> values(2 * static_cast<size_t>(p.out_pitch), 0.0F);
  const double deviation = 73.0 * 73 * std::sqrt(static_cast<double>(p.in_channels * p.kernel_h * p.kernel_w));
  for (size_t i = 0; i < static_cast<size_t>(p.out_channels); ++i) {
    const auto unit = static_cast<float>(random.uniform());
    values[i] = p.compute == ComputeType::i8   ? static_cast<float>(15 * (0.5 + unit) / deviation)
                : p.compute == ComputeType::f8 ? unit
                                               : 1.0F;
    values[static_cast<size_t>(p.out_pitch) + i] = unit - 0.5F;
  }
  return values;
}

double allowed(Element element, double right) {
  switch (element) {
    case Element::f16:
      return 1e-3 * std::max(1.0, std::fabs(right));
    case Element::bf16:
      return 8e-3 * std::max(1.0, std::fabs(right));
    case Element::e4m3:
      return 0.13 * std::max(0.1, std::fabs(right));
    case Element::f32:
      return 1e-5 * std::max(1.0, std::fabs(right));
    default:
      return 1;
  }
}

}  // namespace deepgap::gpu
