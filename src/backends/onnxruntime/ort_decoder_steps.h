// The steps of a decoder with past key values on ONNX Runtime.
#pragma once

#include "backends/generate/past_value_steps.h"
#include "backends/onnxruntime/ort_library.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

class OrtDecoderSteps final : public PastValueSteps<OrtValueHandle> {
 public:
  // Throws OrtFailure.
  OrtDecoderSteps(OnnxDecoder file, OrtSessionHandle session, int64_t weight_bytes, std::map<std::string, double> type_shares);

 protected:
  OrtValueHandle value_over(const void* data, DataType type, const Shape& shape) override;
  std::vector<OrtValueHandle> compute(std::span<OrtValueHandle* const> inputs, int64_t length) override;
  TensorView content(OrtValueHandle& value, const std::string& output, DataType type, Shape& shape) override;

 private:
  const OrtSessionHandle session_;
  OrtMemoryInfoHandle memory_;
  std::vector<const char*> inputs_, outputs_;  // their names
};

}  // namespace deepgap
