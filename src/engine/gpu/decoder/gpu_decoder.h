// Computes a decoder's steps on an NVIDIA GPU. Steps of few tokens are bound by reading weights: kernels of our own, launched together as a
// CUDA graph for each number of tokens. Steps of many are products by cuBLASLt, where it is there. Between layers a token's numbers are
// floats; factors of products are halves, and so are keys and values, in FP16.
#pragma once

#include "engine/gpu/launch.h"
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_steps.h"

#include <memory>
#include <string>

namespace deepgap::gpu {

struct GpuDecoderOptions {
  Element halves = Element::f16;  // or bf16: factors of products, and to what matrices of floats are converted
  bool cuda_graph = true, libraries = true;
  std::string cache_folder;  // keeps compiled kernels; empty: none are kept
};

// The model outlives it. Throws Error{refused} for a device that is not there and heads that no kernel is for, Error{out_of_memory}.
std::unique_ptr<DecoderSteps> make_gpu_decoder(const DecoderModel& model, int device, const GpuDecoderOptions& options);

}  // namespace deepgap::gpu
