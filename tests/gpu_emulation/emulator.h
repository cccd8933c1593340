// Runs what the GPU engine lowers a network to on the CPU: kernels that are generated are C++ but for a few words, so the host's compiler
// takes them with these words defined; threads of a block run one after the other, or in turns where they wait for each other. Convolutions
// and products, whose kernels are tensor-core code, are computed from their description (convolution.h), the epilogue from its own text.
//
// So lowering and generated kernels are tested where there is no GPU: what they compute, not how a GPU runs it.
#pragma once

#include "host_compiler.h"

#include "engine/gpu/plan.h"

#include <deepgap/graph.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace deepgap::gpu {

// Texts are gathered first and compiled together.
class Emulator {
 public:
  Emulator();
  ~Emulator();
  // Returns a number for run().
  size_t add(GpuPlan plan);
  // Throws Error{internal} with what the compiler said.
  void compile();
  // `inputs`: dense row-major, as the Graph has them; outputs likewise, `shapes` and `types` beside them.
  std::vector<Tensor> run(size_t plan, std::span<const Tensor> inputs, const std::vector<Shape>& shapes,
                          const std::vector<DataType>& types) const;

 private:
  struct Program;
  void add_kernel(const std::string& text);
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<std::string> texts_;  // one translation unit each
  std::vector<HostLibrary> libraries_;
  size_t kernels_ = 0;
};

}  // namespace deepgap::gpu
