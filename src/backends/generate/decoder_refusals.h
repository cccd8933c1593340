// Why a Model is not for an engine's kind of task generate.
#pragma once

#include <deepgap/graph.h>

#include <string>

namespace deepgap {

// For engines that compute decoders themselves: empty for a decoder of a GGUF file or of the zoo.
std::string decoder_refusal(const GraphSummary& graph);
// For engines that take both kinds: empty for either.
std::string any_decoder_refusal(const GraphSummary& graph);
// For engines that read ONNX files: empty for a decoder with past key values.
std::string onnx_decoder_refusal(const GraphSummary& graph);

}  // namespace deepgap
