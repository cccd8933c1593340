// The steps of a decoder with past key values on OpenVINO: a request that is run again with other sizes.
#pragma once

#include "backends/generate/past_value_steps.h"

#include <openvino/runtime/compiled_model.hpp>
#include <openvino/runtime/infer_request.hpp>
#include <openvino/runtime/tensor.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

class OvDecoderSteps final : public PastValueSteps<ov::Tensor> {
 public:
  // Throws ov::Exception.
  OvDecoderSteps(OnnxDecoder file, ov::CompiledModel compiled, int64_t weight_bytes, std::map<std::string, double> type_shares);

 protected:
  ov::Tensor value_over(const void* data, DataType type, const Shape& shape) override;
  std::vector<ov::Tensor> compute(std::span<ov::Tensor* const> inputs, int64_t length) override;
  TensorView content(ov::Tensor& value, const std::string& output, DataType type, Shape& shape) override;

 private:
  ov::CompiledModel compiled_;
  ov::InferRequest request_;
  std::vector<bool> is_read_;  // beside input_names(): the library drops inputs that nothing reads
};

}  // namespace deepgap
