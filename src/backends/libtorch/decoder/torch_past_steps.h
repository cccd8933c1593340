// The steps of a decoder with past key values on LibTorch: its Graph is translated once, and sizes are those of each run's tensors.
#pragma once

#include "backends/generate/past_value_steps.h"
#include "backends/libtorch/torch_program.h"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

class TorchPastSteps final : public PastValueSteps<at::Tensor> {
 public:
  // `body` is the decoder's Graph. Throws Error{refused | out_of_memory}, for an operator naming it and its node.
  TorchPastSteps(OnnxDecoder file, const Graph& body, int64_t weight_bytes, std::map<std::string, double> type_shares, int threads);

  void enter() const override;

 protected:
  at::Tensor value_over(const void* data, DataType type, const Shape& shape) override;
  std::vector<at::Tensor> compute(std::span<at::Tensor* const> inputs, int64_t length) override;
  TensorView content(at::Tensor& value, const std::string& output, DataType type, Shape& shape) override;

 private:
  const int threads_;
  const Graph graph_;  // in a merged file the branch with a cache alone
  TorchProgram program_;
  std::vector<size_t> inputs_;   // for each input of the Graph its place in input_names()
  std::vector<size_t> outputs_;  // for the scores and each cache its place among the Graph's outputs
};

}  // namespace deepgap
