// A Graph compiled for the CPU, before memory: buffers by number and steps that read and write them. Made by Lowering, turned into
// something that runs by Executable.
#pragma once

#include <deepgap/tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

using BufferId = int;

struct Buffer {
  enum class Kind { arena, constant, input, output } kind = Kind::arena;
  size_t bytes = 0;
  std::shared_ptr<const std::byte> data;  // constant
  size_t external = 0;                    // input, output: position in the Graph's inputs or outputs
};

// A buffer as one argument of a primitive.
struct StepArgument {
  int index = 0;  // DNNL_ARG_...
  dnnl::memory::desc desc;
  BufferId buffer = 0;
};

// Called with the addresses of the buffers that a function step named as reads, then writes.
using StepFunction = std::function<void(std::span<std::byte* const> addresses)>;

// A primitive with arguments, or a function with the buffers it reads and writes.
struct Step {
  std::string name;
  std::string op;
  dnnl::primitive primitive;
  std::vector<StepArgument> arguments;
  StepFunction function;  // empty: the primitive runs
  std::vector<BufferId> reads, writes;
};

struct CpuPlan {
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  std::map<std::string, int64_t> macs;  // multiply-accumulates by the precision they are computed in
};

// Returns dense row-major memory of `shape`: what every other part of deepgap means by a tensor. Types other than float32, bfloat16 and
// those of 8 bits are bytes to oneDNN.
dnnl::memory::desc plain_desc(DataType type, std::span<const int64_t> shape);
// Returns the same places for elements of another type; nullopt for layouts in blocks, whose sizes follow the type.
std::optional<dnnl::memory::desc> retyped(const dnnl::memory::desc& desc, dnnl::memory::data_type type);
// Returns a dense layout with the channels (axis 1) innermost.
dnnl::memory::desc channels_last_desc(dnnl::memory::data_type type, const dnnl::memory::dims& dims);
// Returns whether the bytes of `desc` are those of the dense row-major tensor (blocks over sizes of 1 do not matter).
bool is_plain(const dnnl::memory::desc& desc);

}  // namespace deepgap
