// A Graph compiled for a GPU, before memory and before kernels were chosen: buffers by number and steps that read and write them. Made by
// Lowering; the tuner settles the choices, Executable makes it run.
#pragma once

#include "engine/gpu/convolution.h"
#include "engine/gpu/launch.h"

#include <deepgap/tensor.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace deepgap::gpu {

using BufferId = int;

struct Buffer {
  enum class Kind { arena, constant, input, output } kind = Kind::arena;
  size_t bytes = 0;
  std::shared_ptr<const std::vector<std::byte>> data;  // constant
  size_t external = 0;                                 // input, output: position in the Graph's inputs or outputs
};

// A convolution or product whose kernel is still to be chosen.
struct Choice {
  Convolution problem;
  Tensor weights;                 // as ConvolutionVariant::pack takes them
  std::vector<float> scale_bias;  // role_scale_bias
};

struct Step {
  std::string name;  // name of the node, or the joined names
  std::string op;
  std::vector<Launch> launches;
  std::vector<BufferId> roles;  // by role of the launches' arguments; -1 where there is none
  std::vector<BufferId> reads, writes;
  std::optional<Choice> choice;
  bool beside_previous = false;  // its one kernel reads nothing that the step before writes, and computes beside it
  std::optional<MaxPool> pool;   // it is one, of the only buffer that it reads, in the same form
};

struct GpuPlan {
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  std::map<std::string, int64_t> macs;  // multiply-accumulates by the precision they are computed in
};

}  // namespace deepgap::gpu
