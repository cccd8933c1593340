// Convolutions and products as networks have them, and odd ones.
#pragma once

#include "engine/gpu/convolution.h"

#include <functional>
#include <string>
#include <vector>

namespace deepgap::bench {

struct NamedProblem {
  std::string name;  // "resnet50 56x56x64->256 1x1 add relu"
  gpu::Convolution problem;
  double (*activation)(double) = nullptr;  // what the epilogue's steps end with
};

// "resnet18", "resnet50", "mobilenet_v2", "vit", "bert": each distinct layer once. "odd": edges of what a convolution can be, whatever the
// batch. Precisions: "f32", "tf32", "f16", "bf16", "i8", "u8" (i8 with an asymmetric source), "f8" (as products of transformers have it).
std::vector<NamedProblem> problems_of(const std::string& network, const std::string& precision, int64_t batch);

}  // namespace deepgap::bench
