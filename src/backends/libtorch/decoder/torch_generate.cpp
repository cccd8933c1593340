#include "backends/libtorch/decoder/torch_generate.h"

#include "backends/generate/decoder_refusals.h"
#include "backends/generate/generate_session.h"
#include "backends/generate/onnx_generator.h"
#include "backends/libtorch/decoder/torch_decoder.h"
#include "backends/libtorch/decoder/torch_past_steps.h"
#include "model/decoder/onnx_decoder.h"

#include <fmt/format.h>

#include <utility>

namespace deepgap {
namespace {

at::TensorOptions torch_options_of(const LoadOptions& options) {
  const DeviceId& device = options.placement.devices.front();
  const auto type = options.precision == Precision::bf16 ? at::kBFloat16 : options.precision == Precision::fp16 ? at::kHalf : at::kFloat;
  if (device.kind != "cuda") return type;
  return at::TensorOptions(at::Device(at::kCUDA, static_cast<at::DeviceIndex>(device.index))).dtype(type);
}

// The translated nodes would round positions to BF16 or FP16, which PyTorch keeps in FP32.
std::string onnx_refusal(const EngineRequest& request) {
  if (request.precision != Precision::fp32)
    return fmt::format("ONNX decoders run in fp32 alone: precision {} is not supported", name_of(request.precision));
  if (request.placement.devices.front().kind == "cuda") return "ONNX decoders run on the CPU alone: give --backend libtorch";
  return {};
}

std::unique_ptr<Session> make_onnx_session(const Model& model, const LoadOptions& options, const TorchSettings& settings) {
  Generator generator = onnx_generator("libtorch", model, settings.generation);
  generator.make_steps = [&model, precision = options.precision, threads = options.threads]() -> std::unique_ptr<DecoderSteps> {
    return std::make_unique<TorchPastSteps>(onnx_decoder_of(model.graph()), *onnx_decoder_body(model.graph()), model.summary().weight_bytes,
                                            fp32_shares(model, precision), threads);
  };
  return make_generate_session(model, options, std::move(generator));
}

}  // namespace

std::string torch_generate_refusal(const EngineRequest& request, const GraphSummary& graph, const TorchSettings& settings) {
  if (std::string refusal = any_decoder_refusal(graph); !refusal.empty()) return refusal;
  if (!settings.package.empty()) return "task generate runs no package: leave out libtorch.package";
  if (settings.cuda_graph) return "task generate is not captured, since its sizes grow: leave out libtorch.cuda_graph";
  if (is_onnx_decoder(graph)) return onnx_refusal(request);
  const Precision precision = request.precision;
  if (precision != Precision::fp32 && precision != Precision::bf16 && precision != Precision::fp16)
    return fmt::format("task generate computes in fp32, bf16 or fp16, not in {}: quantized weights are converted at load",
                       name_of(precision));
  return {};
}

std::unique_ptr<Session> make_torch_generate_session(const std::string& name, const Model& model, const LoadOptions& options,
                                                     const TorchSettings& settings) {
  if (onnx_decoder_body(model.graph()) != nullptr) return make_onnx_session(model, options, settings);
  const auto decoder = std::make_shared<const DecoderModel>(decoder_of(model.graph()));
  Generator generator{name, decoder->shape.context, decoder->shape.vocabulary, decoder->tokenizer, settings.generation, 1, {}, {}};
  generator.make_steps = [decoder, placed = torch_options_of(options), threads = options.threads]() -> std::unique_ptr<DecoderSteps> {
    return std::make_unique<TorchDecoder>(*decoder, placed, threads);
  };
  return make_generate_session(model, options, std::move(generator));
}

}  // namespace deepgap
