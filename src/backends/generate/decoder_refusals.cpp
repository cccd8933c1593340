#include "backends/generate/decoder_refusals.h"

#include "model/decoder/decoder.h"
#include "model/decoder/onnx_decoder.h"

namespace deepgap {

std::string decoder_refusal(const GraphSummary& graph) {
  if (is_decoder(graph)) return {};
  return "task generate needs a decoder: a GGUF file, or a network such as smollm2_135m (deepgap models); ONNX files are for libtorch, "
         "onnxruntime and openvino";
}

std::string any_decoder_refusal(const GraphSummary& graph) {
  if (is_decoder(graph) || is_onnx_decoder(graph)) return {};
  return "task generate needs a decoder: a GGUF file, a network such as smollm2_135m (deepgap models), or an ONNX file of a decoder with "
         "past key values";
}

std::string onnx_decoder_refusal(const GraphSummary& graph) {
  if (is_onnx_decoder(graph)) return {};
  return "task generate needs an ONNX file of a decoder with past key values; for GGUF files and decoders of the zoo give --backend native "
         "or libtorch";
}

}  // namespace deepgap
