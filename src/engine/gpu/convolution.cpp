#include "engine/gpu/convolution.h"

#include "base/hash.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap::gpu {
namespace {

std::string_view name_of(ComputeType compute) {
  switch (compute) {
    case ComputeType::f32:
      return "f32";
    case ComputeType::tf32:
      return "tf32";
    case ComputeType::f16:
      return "f16";
    case ComputeType::bf16:
      return "bf16";
    case ComputeType::i8:
      return "i8";
    case ComputeType::f8:
      return "f8";
  }
  return "";
}

constexpr std::array<std::string_view, 14> element_names{"f32", "f16", "bf16", "i8",  "u8",  "i16",  "u16",
                                                         "i32", "u32", "i64",  "u64", "f64", "bool", "e4m3"};
std::string_view name_of(Element element) { return element_names[static_cast<size_t>(element)]; }

std::string epilogue_key(const Epilogue& epilogue) {
  std::string key = fmt::format("_{}", name_of(epilogue.target));
  for (const EpilogueStep& step : epilogue.steps) {
    if (step.kind == EpilogueStep::Kind::add) key += fmt::format("+{}", name_of(epilogue.residual));
    if (step.kind == EpilogueStep::Kind::multiply) key += fmt::format("*{}", name_of(epilogue.residual));
    if (step.kind == EpilogueStep::Kind::activation) key += fmt::format("_{}", content_hash(step.text).substr(0, 8));
    if (step.kind == EpilogueStep::Kind::clamp) key += "_clamp";
    if (step.kind == EpilogueStep::Kind::round) key += "_round";
  }
  return key;
}

using Family = std::vector<ConvolutionVariant> (*)(const Convolution& problem, const Chip& chip);
// The likeliest to be fastest first.
constexpr std::array<Family, 3> families{stem_variants, wgmma_variants, mma_variants};

}  // namespace

std::vector<std::byte> ConvolutionVariant::packed_scale_bias(const Convolution& problem, const std::vector<float>& scale_bias) const {
  if (pack_scale_bias != nullptr) return pack_scale_bias(problem, scale_bias);
  const auto* from = reinterpret_cast<const std::byte*>(scale_bias.data());
  return {from, from + scale_bias.size() * sizeof(float)};
}

bool ConvolutionVariant::calls_library() const {
  return std::any_of(launches.begin(), launches.end(), [](const Launch& launch) { return launch.library != nullptr; });
}

int64_t Convolution::macs() const { return batch * out_h * out_w * out_channels * (in_channels / groups) * kernel_h * kernel_w; }

std::string Convolution::key() const { return fmt::format("{}{}{}", key_before_batch(), batch, key_behind_batch()); }

std::string Convolution::key_before_batch() const { return fmt::format("{}_{}_n", name_of(compute), name_of(source)); }

std::string Convolution::key_behind_batch() const {
  std::string key = fmt::format("_{}x{}x{}p{}_{}x{}x{}p{}_k{}x{}", in_h, in_w, in_channels, in_pitch, out_h, out_w, out_channels, out_pitch,
                                kernel_h, kernel_w);
  if (stride_h != 1 || stride_w != 1) key += fmt::format("_s{}x{}", stride_h, stride_w);
  if (pad_top != 0 || pad_left != 0) key += fmt::format("_p{}x{}", pad_top, pad_left);
  if (dilation_h != 1 || dilation_w != 1) key += fmt::format("_d{}x{}", dilation_h, dilation_w);
  if (groups != 1) key += fmt::format("_g{}", groups);
  if (source_zero != 0) key += "_z";
  key += epilogue_key(epilogue);
  return pool ? key + fmt::format("_max{}x{}p{}x{}", pool->out_h, pool->out_w, pool->pad_top, pool->pad_left) : key;
}

std::vector<ConvolutionVariant> convolution_variants(const Convolution& problem, const Chip& chip) {
  if (problem.pool) return pooled_stem_variants(problem, chip);
  if (problem.batch * problem.out_h * problem.out_w * problem.out_pitch == 0) return direct_variants(problem, chip);  // launches nothing
  // Nothing comes near them where they can be.
  if (std::vector<ConvolutionVariant> by_channel = depthwise_variants(problem, chip); !by_channel.empty()) return by_channel;
  std::vector<ConvolutionVariant> all;
  for (const Family family : families)
    for (ConvolutionVariant& variant : family(problem, chip)) all.push_back(std::move(variant));
  return all.empty() ? direct_variants(problem, chip) : all;
}

}  // namespace deepgap::gpu
