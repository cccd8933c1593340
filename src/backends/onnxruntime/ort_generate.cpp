#include "backends/onnxruntime/ort_generate.h"

#include "backends/generate/onnx_generator.h"
#include "backends/onnxruntime/ort_decoder_steps.h"
#include "backends/onnxruntime/ort_failure.h"
#include "backends/onnxruntime/ort_network.h"

#include <utility>

namespace deepgap {

std::unique_ptr<Session> make_ort_generate_session(const Model& model, const LoadOptions& options, const OrtSettings& settings) {
  Generator generator = onnx_generator("onnxruntime", model, settings.generation);
  generator.make_steps = [&model, options, settings]() -> std::unique_ptr<DecoderSteps> {
    try {
      return std::make_unique<OrtDecoderSteps>(onnx_decoder_of(model.graph()), open_ort_file(model.file(), options, settings),
                                               model.summary().weight_bytes, fp32_shares(model, options.precision));
    } catch (const OrtFailure& failure) {
      throw load_error(failure, *onnx_decoder_body(model.graph()));
    }
  };
  return make_generate_session(model, options, std::move(generator));
}

}  // namespace deepgap
