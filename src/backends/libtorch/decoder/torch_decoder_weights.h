// The weights of a decoder as ATen's tensors. PyTorch's eager mode multiplies floats: quantized weights become the numbers that they stand
// for, once at load.
#pragma once

#include "model/decoder/decoder.h"

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace deepgap {

// A matrix with its bias, or the scale and shift of a norm. Undefined where there is none.
struct TorchWeights {
  at::Tensor weight, bias;
};

struct TorchDecoderLayer {
  TorchWeights attention_norm, feed_forward_norm;
  at::Tensor query_norm, key_norm;
  std::vector<TorchWeights> qkv;  // three, or one for all
  TorchWeights output;
  TorchWeights gate, up, down;  // gate: undefined where there is none
};

struct TorchDecoderWeights {
  at::Tensor tokens, positions;  // a row for each; positions: undefined unless they are learned
  std::vector<TorchDecoderLayer> layers;
  TorchWeights output_norm, scores;
  int64_t bytes = 0;
};

// In the type and on the device of `options`.
TorchDecoderWeights torch_decoder_weights(const DecoderModel& model, const at::TensorOptions& options);

}  // namespace deepgap
