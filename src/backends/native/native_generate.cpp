#include "backends/native/native_generate.h"

#include "backends/generate/decoder_refusals.h"
#include "backends/generate/generate_session.h"
#include "engine/cpu/isa.h"
#include "engine/cpu/team.h"
#include "engine/decoder/decoder_runtime.h"
#include "engine/gpu/decoder/gpu_decoder.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace deepgap {
namespace {

WeightType stored_type(const DecoderModel& model, Precision precision) {
  return precision == Precision::bf16 ? WeightType::bf16 : model.stored_as;
}

bool is_gpu(const LoadOptions& options) { return options.placement.devices.front().kind == "cuda"; }

// The model outlives them. On the CPU within the caller's TeamScope.
std::unique_ptr<DecoderSteps> make_steps(const DecoderModel& model, const LoadOptions& options, const NativeOptions& native) {
  if (!is_gpu(options)) return std::make_unique<DecoderRuntime>(model, decoder_kernels(), stored_type(model, options.precision));
  gpu::GpuDecoderOptions chosen;
  chosen.halves = options.precision == Precision::bf16 ? gpu::Element::bf16 : gpu::Element::f16;
  chosen.cuda_graph = native.cuda_graph;
  chosen.libraries = native.libraries;
  chosen.cache_folder = options.cache_dir.empty() ? "" : options.cache_dir + "/native-cuda";
  return gpu::make_gpu_decoder(model, options.placement.devices.front().index, chosen);
}

}  // namespace

std::string generate_refusal(const EngineRequest& request, const NativeOptions& native, const GraphSummary& graph) {
  const std::vector<DeviceId>& devices = request.placement.devices;
  if (const std::string refusal = decoder_refusal(graph); !refusal.empty()) return "native: " + refusal;
  if (request.placement.processes != 1 || devices.size() != 1) return "native: task generate runs in one process on one device";
  if (devices[0].kind == "cuda") {
    if (request.precision == Precision::fp16 || request.precision == Precision::bf16) return {};
    return fmt::format(
        "native: task generate on cuda computes in fp16 or bf16, with quantized weights as the file has them, not in {}: give "
        "--precision fp16",
        name_of(request.precision));
  }
  if (devices[0].kind != "cpu" || devices[0].index != 0)
    return fmt::format("native has no device {}:{}: task generate runs on cpu and cuda:N", devices[0].kind, devices[0].index);
  if (request.precision != Precision::fp32 && request.precision != Precision::bf16)
    return fmt::format(
        "native: task generate computes in fp32, with weights as the file has them or in bf16, not in {}: for others give a "
        "quantized GGUF file, or a network as smollm2_135m:type=q8_0",
        name_of(request.precision));
  return isa_refusal(native.isa);
}

std::unique_ptr<Session> make_native_generate_session(const Model& model, const LoadOptions& options, const NativeOptions& native) {
  if (!is_gpu(options)) limit_isa(native.isa);
  const auto decoder = std::make_shared<const DecoderModel>(decoder_of(model.graph()));
  Generator generator{
      "native", decoder->shape.context, decoder->shape.vocabulary, decoder->tokenizer, native.generation, native.streams, {}, {}};
  generator.make_steps = [decoder, options, native] { return make_steps(*decoder, options, native); };
  generator.thread_scope = [threads = options.threads, pin = native.pin](bool serves) -> std::shared_ptr<void> {
    const std::vector<int> allowed = allowed_cpus();
    const bool pins = serves && pin && static_cast<int>(allowed.size()) >= threads;
    return std::make_shared<TeamScope>(threads, pins ? allowed : std::vector<int>());
  };
  return make_generate_session(model, options, std::move(generator));
}

}  // namespace deepgap
