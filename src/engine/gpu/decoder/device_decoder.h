// The weights of a decoder on a GPU, in the layers' order. Plain data once it is made.
#pragma once

#include "engine/gpu/decoder/device_matrix.h"
#include "model/decoder/decoder.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace deepgap::gpu {

// A product with its bias. Several matrices where their types differ: then their results stand side by side.
struct DeviceLinear {
  std::vector<std::shared_ptr<const DeviceMatrix>> parts;
  std::optional<cuda::DeviceMemory> bias;

  cuda::Address bias_address() const { return bias ? bias->address() : 0; }
};
struct DeviceNorm {
  std::optional<cuda::DeviceMemory> weight, bias;
};
struct DeviceLayer {
  DeviceNorm attention_norm, feed_forward_norm, query_norm, key_norm;
  DeviceLinear qkv, output, up, down;
};

struct DeviceDecoder {
  std::vector<DeviceLayer> layers;
  DeviceNorm output_norm;
  std::shared_ptr<const DeviceMatrix> embeddings;  // halves
  std::shared_ptr<const DeviceMatrix> positions;   // nullptr: none are learned
  DeviceLinear scores;
  bool any_quantized = false;
  int64_t bytes = 0;                       // all weights
  std::map<std::string, int64_t> numbers;  // counts of the matrices' numbers, by type
};

inline cuda::Address address_of(const std::optional<cuda::DeviceMemory>& memory) { return memory ? memory->address() : 0; }

// `halves`: f16 or bf16, to which matrices of floats are converted unless the model says that they are stored quantized.
DeviceDecoder upload_decoder(const DecoderModel& model, WeightType halves);

}  // namespace deepgap::gpu
