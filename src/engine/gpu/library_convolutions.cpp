#include "engine/gpu/library_convolutions.h"

#include "engine/gpu/form.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/library_call.h"
#include "engine/gpu/library_epilogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace deepgap::gpu {
namespace {

// Algorithms that unroll images first want more; ours need none.
constexpr size_t most_workspace = size_t{64} << 20;

int dnn_type(Element element) {
  switch (element) {
    case Element::f16:
      return cuda::dnn_f16;
    case Element::bf16:
      return cuda::dnn_bf16;
    default:
      return cuda::dnn_f32;
  }
}

// The library makes no float32 sums of 16 bits. Its integers have sums alone, which took 20 to 80 times as long as ours on an H100.
bool has_numbers(const Convolution& p, bool is_whole) {
  if (p.compute == ComputeType::i8 || p.compute == ComputeType::f8) return false;
  return !is_half(p.source) || (is_whole && p.epilogue.target == p.source);
}

// The library counts in int, and its channels of a group lie one behind another.
bool has_shape(const Convolution& p) {
  const int64_t in = p.batch * p.in_h * p.in_w * p.in_pitch, out = p.batch * p.out_h * p.out_w * p.out_pitch;
  const bool there = in > 0 && out > 0 && p.in_channels > 0 && p.out_channels > 0;
  const bool grouped = p.groups == 1 || (p.in_channels == p.in_pitch && p.out_channels == p.out_pitch);
  return there && grouped && std::max(in, out) <= std::numeric_limits<int>::max();
}

class ConvolutionCall final : public LibraryCall {
 public:
  ConvolutionCall(std::shared_ptr<const cuda::DnnConvolution> convolution, const cuda::DnnConvolution::Algorithm& algorithm,
                  const SumsPlace& sums)
      : convolution_(std::move(convolution)), algorithm_(algorithm), sums_(sums) {}

  Run bind(const AddressOf& address) const override {
    cuda::DnnConvolution::Places places{.source = address(role_source), .weights = address(role_weights), .result = address(sums_.role)};
    if (convolution_->problem().is_whole) places.bias = address(role_scale_bias);
    if (convolution_->problem().has_addend) places.addend = address(role_residual);
    if (algorithm_.workspace_bytes > 0) places.workspace = address(role_workspace) + sums_.bytes;
    return [convolution = convolution_, places, algorithm = algorithm_](cuda::StreamHandle stream) {
      convolution->run(places, algorithm, stream);
    };
  }

 private:
  std::shared_ptr<const cuda::DnnConvolution> convolution_;
  cuda::DnnConvolution::Algorithm algorithm_;
  SumsPlace sums_;
};

ConvolutionVariant variant_of(const Convolution& problem, const Chip& chip, const std::shared_ptr<const cuda::DnnConvolution>& convolution,
                              const cuda::DnnConvolution::Algorithm& algorithm) {
  const bool is_whole = convolution->problem().is_whole;
  auto call = std::make_shared<const ConvolutionCall>(convolution, algorithm, place_of_sums(problem, is_whole));
  ConvolutionVariant variant =
      variant_of_call(problem, chip, is_whole, is_whole ? "cudnnConvolutionBiasActivationForward" : "cudnnConvolutionForward",
                      std::move(call), algorithm.workspace_bytes);
  variant.name =
      fmt::format("cudnn {} {}{}", cuda::cudnn().version(), cuda::dnn_algorithm_name(algorithm.number), is_whole ? "" : " ended");
  return variant;
}

}  // namespace

std::optional<cuda::DnnProblem> library_convolution(const Convolution& p) {
  const bool is_whole = is_library_epilogue(p);
  if (!has_numbers(p, is_whole) || !has_shape(p) || !sums_fit(p, is_whole)) return std::nullopt;
  const auto number = [](int64_t value) { return static_cast<int>(value); };
  cuda::DnnProblem made;
  made.operands = dnn_type(p.source);
  made.result = is_whole ? dnn_type(p.epilogue.target) : cuda::dnn_f32;
  made.true_f32 = p.compute == ComputeType::f32;
  made.batch = number(p.batch), made.in_h = number(p.in_h), made.in_w = number(p.in_w), made.channels = number(p.in_pitch);
  made.out_h = number(p.out_h), made.out_w = number(p.out_w), made.columns = number(p.out_pitch);
  made.kernel_h = number(p.kernel_h), made.kernel_w = number(p.kernel_w);
  made.stride_h = number(p.stride_h), made.stride_w = number(p.stride_w);
  made.pad_h = number(p.pad_top), made.pad_w = number(p.pad_left);
  made.dilation_h = number(p.dilation_h), made.dilation_w = number(p.dilation_w);
  made.groups = number(p.groups);
  made.is_whole = is_whole;
  made.has_addend = is_whole && p.epilogue.has_residual();
  made.has_relu = is_whole && ends_in_relu(p.epilogue);
  return made;
}

std::vector<ConvolutionVariant> cudnn_variants(const Convolution& problem, const Chip& chip,
                                               const std::shared_ptr<const cuda::DnnLibrary>& library) {
  const auto described = library_convolution(problem);
  if (!described) return {};
  const auto convolution = std::make_shared<const cuda::DnnConvolution>(library, *described);
  std::vector<ConvolutionVariant> variants;
  for (const cuda::DnnConvolution::Algorithm& algorithm : convolution->algorithms(most_workspace))
    variants.push_back(variant_of(problem, chip, convolution, algorithm));
  return variants;
}

}  // namespace deepgap::gpu
