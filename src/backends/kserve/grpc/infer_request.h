// The message of a request for inference: what is the same for every query of a batch size is made once, and the tensors' bytes are put
// behind it.
#pragma once

#include "backends/common/staging.h"
#include "backends/kserve/served_model.h"

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

// One thread.
class InferRequest {
 public:
  InferRequest(ModelName name, std::vector<Port> inputs, const std::vector<Port>& outputs);
  // Throws Error{input} for samples that do not fit the inputs.
  void stage(std::span<const std::vector<TensorView>> samples) { staging_.stage(samples); }
  // ModelInferRequest of these samples; `id` where the answer is to name it. Throws Error{refused | input} where samples do not fit.
  grpc::ByteBuffer write(std::span<const uint32_t> samples, std::optional<uint64_t> id);

 private:
  struct Form {
    std::vector<Shape> shapes;  // shapes of the inputs
    grpc::Slice head;           // all but id and tensors' bytes
    size_t tensor_bytes = 0;    // with what stands round them
  };
  const Form& form(int64_t batch);

  ModelName name_;
  std::vector<Port> inputs_;
  std::vector<std::string> outputs_;
  Staging staging_;
  std::map<int64_t, Form> forms_;  // by batch
};

}  // namespace deepgap
