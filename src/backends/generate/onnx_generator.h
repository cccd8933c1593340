// What engines that read ONNX files have in common for task generate.
#pragma once

#include "backends/generate/generate_session.h"

#include <map>
#include <string>

namespace deepgap {

// The Generator of an ONNX decoder, without make_steps. Throws Error{refused} where text has no tokenizer.
Generator onnx_generator(const std::string& engine, const Model& model, const GenerationSettings& settings);
// Shares of the precisions for an engine that computes in FP32 what is not quantized: empty where something is.
std::map<std::string, double> fp32_shares(const Model& model, Precision precision);

}  // namespace deepgap
