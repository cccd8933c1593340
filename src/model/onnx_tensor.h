// TensorProto to Tensor: raw bytes, typed fields and external data, checked against the shape. Used by the ONNX reader only.
#pragma once

#include "base/file.h"
#include "model/onnx_reader.h"
#include "model/wire.h"

#include <map>
#include <string>
#include <string_view>

namespace deepgap {

// The files beside a model that hold its tensors. Opens nothing outside `folder`, links resolved; "" refuses external data altogether.
class ExternalData {
 public:
  explicit ExternalData(std::string folder) : folder_(std::move(folder)) {}
  // Fills the tensor from `location` at `offset`; throws Error{input}.
  void read(const std::string& location, int64_t offset, Tensor& tensor);

 private:
  struct File {
    FileDescriptor descriptor;
    int64_t size = 0;
  };
  const File& open(const std::string& location);

  std::string folder_;
  std::map<std::string, File> files_;
};

struct NamedTensor {
  std::string_view name;  // aliases the message
  Tensor tensor;          // owns its bytes, 64-byte aligned
};

// Throws Error{input} without the path; the message names the tensor.
NamedTensor parse_tensor(WireReader message, ExternalData& external, const OnnxLimits& limits);

}  // namespace deepgap
