#include "backends/openvino/ov_generate.h"

#include "backends/generate/onnx_generator.h"
#include "backends/openvino/ov_decoder_steps.h"
#include "backends/openvino/ov_failure.h"
#include "backends/openvino/ov_library.h"

#include <openvino/runtime/exception.hpp>

#include <utility>

namespace deepgap {

std::unique_ptr<Session> make_ov_generate_session(const Model& model, const LoadOptions& options, const OvSettings& settings) {
  Generator generator = onnx_generator("openvino", model, settings.generation);
  OvSettings turns = settings;
  turns.streams = 0;  // sequences take turns, each on all threads
  generator.make_steps = [&model, options, turns]() -> std::unique_ptr<DecoderSteps> {
    try {
      return std::make_unique<OvDecoderSteps>(onnx_decoder_of(model.graph()),
                                              ov_core().compile_model(model.file(), "CPU", ov_properties(turns, options.precision, 1)),
                                              model.summary().weight_bytes, fp32_shares(model, options.precision));
    } catch (const ov::Exception& failure) {
      throw ov_load_error(failure.what(), *onnx_decoder_body(model.graph()));
    }
  };
  return make_generate_session(model, options, std::move(generator));
}

}  // namespace deepgap
