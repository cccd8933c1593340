#include "backends/generate/onnx_generator.h"

#include "backends/common/quantized_file.h"
#include "model/decoder/onnx_decoder.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {

Generator onnx_generator(const std::string& engine, const Model& model, const GenerationSettings& settings) {
  const OnnxDecoder decoder = onnx_decoder_of(model.graph());
  if (decoder.tokenizer.model.empty() && !settings.made_up_tokens)
    throw Error(ErrorKind::refused,
                fmt::format("{}: there is no tokenizer.json beside {}: add --axis tokenizer=words, which gives each word a made-up token",
                            engine, model.name()));
  return {engine, decoder.context, decoder.vocabulary, decoder.tokenizer, settings, 1, {}, {}};
}

std::map<std::string, double> fp32_shares(const Model& model, Precision precision) {
  if (precision != Precision::fp32 || computes_integers(model.summary())) return {};
  return {{"fp32", 1.0}};
}

}  // namespace deepgap
